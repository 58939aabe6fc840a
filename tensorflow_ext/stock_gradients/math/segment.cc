// Gradients of reductions over segments: row i of the data belongs to segment ids[i], and its
// gradient comes from row ids[i] of the result. Also gradients of ops that partition rows into
// several tensors, and stitch them into one.

#include <string>

#include "absl/strings/str_cat.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/stock_gradients/array/counts.h"

namespace tensorflow_ext {
namespace {

// x, whose axes are the first ones of `like`, with axes of size 1 after them.
Value WithTrailingAxes(Value x, Value like) {
  Gradient* g = x.gradient();
  const Value missing = ExpandDims(Rank(like) - Rank(x), g->Int(0));
  return Reshape(x, Concat({Shape(x), Fill(missing, g->Int(1))}, g->Int(0)));
}

Value SegmentSum(Value data, Value ids) { return Call("SegmentSum", {data, ids}); }

void SegmentSumGrad(Gradient& g) { g.ReturnFirst(Gather(g.Upstream(), g.Input(1))); }
REGISTER_GRADIENT("SegmentSum", SegmentSumGrad);

// A row's gradient is its segment's gradient divided by the segment's size.
void SegmentMeanGrad(Gradient& g) {
  const Value data = g.Input(0), ids = g.Input(1), dy = g.Upstream();
  const Value ones = Fill(Shape(ids), g.Scalar(1, CountType(data.type())));
  const Value sizes = Gather(SegmentSum(ones, ids), ids);
  g.Return({OverCount(Gather(dy, ids), WithTrailingAxes(sizes, data)), Value()});
}
REGISTER_GRADIENT("SegmentMean", SegmentMeanGrad);

// The elements that attain the extremum share its gradient evenly.
void SegmentExtremumGrad(Gradient& g) {
  const Value data = g.Input(0), ids = g.Input(1), dy = g.Upstream();
  const Value is_selected = Equal(data, Gather(g.Output(), ids));
  const Value count = SegmentSum(Cast(is_selected, CountType(data.type())), ids);
  const Value share = OverCount(Gather(dy, ids), Gather(count, ids));
  g.Return({Where(is_selected, share, 0), Value()});
}
REGISTER_GRADIENT("SegmentMax", SegmentExtremumGrad);
REGISTER_GRADIENT("SegmentMin", SegmentExtremumGrad);

// The derivative of a segment's product with respect to each of its elements x: without zeros, the
// product divided by x; with one zero, the product of the others at the zero and 0 elsewhere; with
// more zeros, 0. The second order is right with one zero; as in Python it omits the mixed
// derivative for two zeros. `reduce(op, values)` reduces values by segment with "Sum" or "Prod";
// `spread` gives each row its segment's value.
template <typename Reduce, typename Spread>
Value SegmentProductGrad(Gradient& g, Reduce reduce, Spread spread) {
  const Value data = g.Input(0), dy = g.Upstream();
  const Value is_zero = Equal(data, 0);
  const Value zeros = reduce("Sum", Cast(is_zero, DT_INT32));
  const Value others = Where(is_zero, 1, data);
  const Value product_of_others = spread(reduce("Prod", others));
  const Value derivative = Where(is_zero, product_of_others, spread(g.Output()) / others);
  return spread(Where(Greater(zeros, 1), 0, dy)) * Conj(derivative);
}

void SegmentProdGrad(Gradient& g) {
  const Value ids = g.Input(1);
  const Value dx = SegmentProductGrad(
      g,
      [&](const char* op, Value values) {
        return Call(std::string("Segment") + op, {values, ids});
      },
      [&](Value by_segment) { return Gather(by_segment, ids); });
  g.Return({dx, Value()});
}
REGISTER_GRADIENT("SegmentProd", SegmentProdGrad);

// ---- Unsorted: rows with a negative id belong to no segment.

// The segment's value for each row; 0 for rows without a segment.
class UnsortedRows {
 public:
  explicit UnsortedRows(Gradient& g)
      : ids_(g.Input(1)),
        is_used_(WithTrailingAxes(GreaterEqual(ids_, 0), g.Input(0))),
        rows_(Maximum(ids_, 0)) {}

  Value Spread(Value by_segment) const { return Where(is_used_, Gather(by_segment, rows_), 0); }
  Value is_used() const { return is_used_; }

 private:
  const Value ids_, is_used_, rows_;
};

// TensorFlow's client gradient fails for int16 ids.
void UnsortedSegmentSumGrad(Gradient& g) {
  if (!IsInexact(g.Input(0))) return ReturnNone(g);
  g.ReturnFirst(UnsortedRows(g).Spread(g.Upstream()));
}
REGISTER_STAND_IN("UnsortedSegmentSum", UnsortedSegmentSumGrad);

// The elements that attain the extremum share its gradient evenly. TensorFlow's client gradient
// divides by 0 for a segment without rows, as the second order shows.
void UnsortedSegmentExtremumGrad(Gradient& g) {
  const Value data = g.Input(0);
  if (!IsFloating(data)) return ReturnNone(g);
  const UnsortedRows rows(g);
  const Value is_selected = LogicalAnd(rows.is_used(), Equal(data, rows.Spread(g.Output())));
  const Value count = Call("UnsortedSegmentSum",
                           {Cast(is_selected, CountType(data.type())), g.Input(1), g.Input(2)});
  // A selected element's count is at least 1.
  const Value share = OverCount(rows.Spread(g.Upstream()), Maximum(rows.Spread(count), 1));
  g.ReturnFirst(Where(is_selected, share, 0));
}
REGISTER_STAND_IN("UnsortedSegmentMax", UnsortedSegmentExtremumGrad);
REGISTER_STAND_IN("UnsortedSegmentMin", UnsortedSegmentExtremumGrad);

void UnsortedSegmentProdGrad(Gradient& g) {
  const Value ids = g.Input(1), num_segments = g.Input(2);
  const UnsortedRows rows(g);
  const Value dx = SegmentProductGrad(
      g,
      [&](const char* op, Value values) {
        return Call(std::string("UnsortedSegment") + op, {values, ids, num_segments});
      },
      [&](Value by_segment) { return rows.Spread(by_segment); });
  g.Return({dx, Value(), Value()});
}
REGISTER_GRADIENT("UnsortedSegmentProd", UnsortedSegmentProdGrad);

// ---- The V2 forms, which only XLA runs, take the number of segments. A row
// whose id is negative or too large belongs to no segment.

struct Segments {
  Value data, ids, count;
  Value is_used;  // true if the row belongs to a segment
  Value rows;     // the segment of such a row; any for other rows
};

Segments SegmentsOf(Gradient& g) {
  const Value data = g.Input(0), ids = g.Input(1);
  const Value count = Cast(g.Input(2), ids.type());
  const Value is_used = LogicalAnd(GreaterEqual(ids, 0), Less(ids, count));
  return {data, ids, count, WithTrailingAxes(is_used, data), Where(is_used, ids, 0)};
}

// The segment's value for each row; 0 for rows without a segment.
Value Spread(const Segments& segments, Value by_segment) {
  return Where(segments.is_used, Gather(by_segment, segments.rows), 0);
}

void SegmentSumV2Grad(Gradient& g) { g.ReturnFirst(Spread(SegmentsOf(g), g.Upstream())); }
REGISTER_GRADIENT("SegmentSumV2", SegmentSumV2Grad);

void SegmentExtremumV2Grad(Gradient& g) {
  const Segments segments = SegmentsOf(g);
  const Value data = segments.data;
  const Value is_selected = LogicalAnd(segments.is_used, Equal(data, Spread(segments, g.Output())));
  const Value selected = Cast(is_selected, CountType(data.type()));
  const Value count = Call("SegmentSumV2", {selected, segments.ids, segments.count});
  // A selected element's count is at least 1.
  const Value share =
      OverCount(Spread(segments, g.Upstream()), Maximum(Spread(segments, count), 1));
  g.ReturnFirst(Where(is_selected, share, 0));
}
REGISTER_GRADIENT("SegmentMaxV2", SegmentExtremumV2Grad);
REGISTER_GRADIENT("SegmentMinV2", SegmentExtremumV2Grad);

void SegmentProdV2Grad(Gradient& g) {
  const Segments segments = SegmentsOf(g);
  g.ReturnFirst(SegmentProductGrad(
      g,
      [&](const char* op, Value values) {
        return Call(absl::StrCat("Segment", op, "V2"), {values, segments.ids, segments.count});
      },
      [&](Value by_segment) { return Spread(segments, by_segment); }));
}
REGISTER_GRADIENT("SegmentProdV2", SegmentProdV2Grad);

// ---- Rows that move.

// The gradients of the parts go back to the origin of their rows.
void DynamicPartitionGrad(Gradient& g) {
  const Value data = g.Input(0), partitions = g.Input(1);
  if (!IsInexact(data)) return ReturnNone(g);
  const Value shape = Shape(partitions);
  const Value rows = Reshape(Range(g.Int(0), Size(partitions), g.Int(1)), shape);
  const Values origins =
      CallAll("DynamicPartition", {rows, partitions}, g.AttrsOfOp({"num_partitions"}));
  const Value stitched = Call("ParallelDynamicStitch", {origins, g.Upstreams()});
  g.Return({ReshapeLike(stitched, data), Value()});
}
REGISTER_GRADIENT("DynamicPartition", DynamicPartitionGrad);

// If several rows have the same index, the last one is in the result. The row numbers, sent the
// same way, show which. TensorFlow's client gradient gives all of them the gradient.
void DynamicStitchGrad(Gradient& g) {
  const Values indices = g.Inputs("indices"), data = g.Inputs("data");
  Values gradients(g.num_inputs());
  if (!IsInexact(data[0])) return g.Return(gradients);
  Values numbers;
  Value count = g.Int(0);
  for (const Value& index : indices) {
    const Value end = count + Size(index);
    numbers.push_back(ReshapeLike(Range(count, end, g.Int(1)), index));
    count = end;
  }
  const Value last = Call("DynamicStitch", {indices, numbers});
  for (size_t i = 0; i < data.size(); ++i) {
    const Value is_last = Equal(Gather(last, indices[i]), numbers[i]);
    gradients[indices.size() + i] =
        Where(WithTrailingAxes(is_last, data[i]), Gather(g.Upstream(), indices[i]), 0);
  }
  g.Return(gradients);
}
REGISTER_STAND_IN("DynamicStitch", DynamicStitchGrad);

// If several rows have the same index, any of them may be in the result, and nothing tells which.
void ParallelDynamicStitchGrad(Gradient& g) {
  const Values indices = g.Inputs("indices");
  Values gradients(g.num_inputs());
  if (IsInexact(g.Upstream())) {
    for (size_t i = 0; i < indices.size(); ++i) {
      gradients[indices.size() + i] = Gather(g.Upstream(), indices[i]);
    }
  }
  g.Return(gradients);
}
REGISTER_GRADIENT("ParallelDynamicStitch", ParallelDynamicStitchGrad);

}  // namespace
}  // namespace tensorflow_ext
