// Ragged tensors: nested splits and the dense values of the innermost rows. Of a gradient that is
// encoded as variants, only the values count.

#include <algorithm>
#include <string>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/sparse/sparse.h"

namespace tensorflow_ext {
namespace {

// The splits that cut the values where `nested` splits cut their outermost rows.
Value OuterSplits(const Values& nested) {
  Value splits = nested[0];
  for (size_t i = 1; i < nested.size(); ++i) splits = Gather(nested[i], splits);
  return splits;
}

// Each value gets the gradients of the positions that its row was gathered to.
void RaggedGatherGrad(Gradient& g) {
  const Values nested = g.Inputs("params_nested_splits");
  const Value values = g.Inputs("params_dense_values")[0];
  const Value indices = g.Inputs("indices")[0];
  if (!IsInexact(values)) return ReturnNone(g);
  const Value splits = OuterSplits(nested);
  const Value rows = Reshape(indices, g.Ints({-1}));
  const Value origins = CallAll(
      "RaggedRange", {Gather(splits, rows), Gather(splits, rows + 1), g.Scalar(1, splits.type())},
      {{"Tsplits", splits.type()}})[1];
  const Value dy = g.Upstreams().back();
  Values gradients(g.num_inputs());
  gradients[nested.size()] = Call("UnsortedSegmentSum", {dy, origins, Element(Shape(values), 0)});
  g.Return(gradients);
}
REGISTER_GRADIENT("RaggedGather", RaggedGatherGrad);

// The values do not change, except in inner axes.
void RaggedTensorToSparseGrad(Gradient& g) {
  Values gradients(g.num_inputs());
  gradients.back() = ReshapeLike(g.Upstream(1), g.Input(g.num_inputs() - 1));
  g.Return(gradients);
}
REGISTER_GRADIENT("RaggedTensorToSparse", RaggedTensorToSparseGrad);

// Value numbers, made dense in the same way, show which value is at each position; 0 means the
// default. Each gets the sum of the gradients of its positions. The default was broadcast to the
// inner axes, so it is summed along those too.
void RaggedTensorToTensorGrad(Gradient& g) {
  const Value values = g.Inputs("values")[0];
  const Value default_value = g.Inputs("default_value")[0];
  const Value dy = g.Upstream();
  if (!IsInexact(values)) return ReturnNone(g);
  const auto partitions = g.Attr<std::vector<std::string>>("row_partition_types");
  const int64_t ragged_rank =
      partitions.size() - std::count(partitions.begin(), partitions.end(), "FIRST_DIM_SIZE");
  const DataType shape_type = g.Input(0).type();
  const Value count = Element(Shape(values, DT_INT64), 0);
  const Value origins =
      Call("RaggedTensorToTensor",
           {SliceVector(Shape(dy, shape_type), 0, 1 + ragged_rank), Ordinals(count),
            g.Scalar(0, DT_INT64), g.Inputs("row_partition_tensors")},
           g.AttrsOfOp({"row_partition_types"}));
  const Value sums = Call("UnsortedSegmentSum", {dy, origins, count + 1});
  const Value d_default = SliceVector(sums, 0, 1);
  Values gradients(g.num_inputs());
  gradients[1] = SliceVector(sums, 1, kToTheEnd);
  gradients[2] = SumTo(default_value, d_default, Shape(d_default));
  g.Return(gradients);
}
REGISTER_GRADIENT("RaggedTensorToTensor", RaggedTensorToTensorGrad);

// ---- Encoded in variants: one for the whole tensor, or one per outermost row.

void RaggedTensorToVariantGrad(Gradient& g) {
  const Values nested = g.Inputs("rt_nested_splits");
  const Value values = g.Inputs("rt_dense_values")[0];
  if (!IsInexact(values)) return ReturnNone(g);
  const DataType type = g.Attr<DataType>("Tsplits");
  const Value rows = SliceVector(Shape(values, type), 0, 1);
  Value splits;
  if (!g.Attr<bool>("batched_input")) {
    splits = Concat({g.Vector({0}, type), rows}, g.Int(0));
  } else if (nested.empty()) {  // a variant for each row
    const Value zero = g.Scalar(0, type), one = g.Scalar(1, type);
    splits = Range(zero, Element(rows, 0) + 1, one);
  } else {
    splits = OuterSplits(nested);
  }
  Values gradients(g.num_inputs());
  gradients.back() = Call("RaggedTensorToVariantGradient", {g.Upstream(), splits, Shape(values)},
                          {{"Tvalues", values.type()}});
  g.Return(gradients);
}
REGISTER_GRADIENT("RaggedTensorToVariant", RaggedTensorToVariantGrad);

// `values`, cut by `splits` and encoded, in the shape of `encoded`.
Value EncodeLike(Value encoded, const Values& splits, Value values) {
  return ReshapeLike(Call("RaggedTensorToVariant", {splits, values}, {{"batched_input", true}}),
                     encoded);
}

void RaggedTensorToVariantGradientGrad(Gradient& g) {
  const Value dy = g.Upstream();
  if (!IsInexact(dy)) return ReturnNone(g);
  g.Return({EncodeLike(g.Input(0), {g.Input(1)}, dy), Value(), Value()});
}
REGISTER_GRADIENT("RaggedTensorToVariantGradient", RaggedTensorToVariantGradientGrad);

// The splits that cut the dense values of a decoded ragged tensor into those of each variant. The
// rank of `encoded` is unknown: it is the number of outer splits that the decoded tensor has more
// than each variant.
Value SplitsOfVariants(Value encoded, const Values& nested) {
  Gradient* g = encoded.gradient();
  const DataType type = nested[0].type();
  const Value rank = Rank(encoded), zero = g->Scalar(0, type);
  const Value one = g->Scalar(1, type);
  const auto last = [&](Value splits) { return Size(splits, type) - 1; };
  // A scalar holds all outermost rows.
  const Value rows = Where(Equal(rank, 0), last(nested[0]), one);
  Value splits = Range(zero, Size(encoded, type) + 1, one) * rows;
  for (size_t i = 0; i < nested.size(); ++i) {
    const Value inside = Gather(nested[i], Minimum(splits, last(nested[i])));
    splits = Where(LessEqual(rank, i + 1.0), inside, splits);
  }
  return splits;
}

void RaggedTensorFromVariantGrad(Gradient& g) {
  const Value encoded = g.Input(0);
  const int64_t output_rank = g.Attr<int64_t>("output_ragged_rank");
  const int64_t input_rank = g.Attr<int64_t>("input_ragged_rank");
  const Value d_values = g.Upstreams().back();
  if (!IsInexact(d_values)) return ReturnNone(g);
  Values nested;
  for (int64_t i = 0; i < output_rank; ++i) nested.push_back(g.Output(i));
  if (output_rank == 0 || input_rank == output_rank) {
    g.Return({Call("RaggedTensorToVariant", {nested, d_values},
                   {{"batched_input", false}, {"Tsplits", g.Attr<DataType>("Tsplits")}})});
  } else if (input_rank < 0) {
    g.Return({EncodeLike(encoded, {SplitsOfVariants(encoded, nested)}, d_values)});
  } else if (input_rank > output_rank) {
    g.Unimplemented(
        "input_ragged_rank is greater than output_ragged_rank; no such tensors "
        "exist");
  } else {
    nested.erase(nested.begin(), nested.end() - input_rank - 1);
    g.Return({EncodeLike(encoded, nested, d_values)});
  }
}
REGISTER_GRADIENT("RaggedTensorFromVariant", RaggedTensorFromVariantGrad);

}  // namespace
}  // namespace tensorflow_ext
