// Ops that move, guard or select elements without computing on them.

#include "absl/strings/str_cat.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// ---- The value passes through, and so does its gradient.

// The op's first input is its output; its other inputs only control it.
void PassThroughGrad(Gradient& g) { g.ReturnFirst(g.Upstream()); }
REGISTER_GRADIENT("DeepCopy", PassThroughGrad);
REGISTER_GRADIENT("EnsureShape", PassThroughGrad);
REGISTER_GRADIENT("GuaranteeConst", PassThroughGrad);
REGISTER_GRADIENT("PlaceholderWithDefault", PassThroughGrad);
REGISTER_GRADIENT("Print", PassThroughGrad);
REGISTER_GRADIENT("Snapshot", PassThroughGrad);

void IdentityNGrad(Gradient& g) {
  Values gradients;
  for (int i = 0; i < g.num_inputs(); ++i) {
    gradients.push_back(IsDifferentiable(g.Input(i)) ? g.Upstream(i) : Value());
  }
  g.Return(gradients);
}
REGISTER_GRADIENT("IdentityN", IdentityNGrad);

// The gradient gets the same check as the value (like Python's _CheckNumericsV2Grad).
void CheckNumericsGrad(Gradient& g) {
  const std::string message =
      absl::StrCat("The gradient is not finite. ", g.Attr<std::string>("message"));
  g.Return({g.Call(g.op(), {g.Upstream()}, {{"message", message}})});
}
REGISTER_GRADIENT("CheckNumerics", CheckNumericsGrad);
REGISTER_GRADIENT("CheckNumericsV2", CheckNumericsGrad);

// The op exists to make this an error.
void PreventGradientGrad(Gradient& g) {
  g.Unimplemented(
      absl::StrCat("the graph forbids differentiation here: ", g.Attr<std::string>("message")));
}
REGISTER_GRADIENT("PreventGradient", PreventGradientGrad);

// The input's shape matters, not its elements.
REGISTER_GRADIENT("OnesLike", ReturnNone);

// ---- Elements that move: the gradient moves them back.

// Each value gets its part of the gradient.
Values ConcatGradients(Gradient& g, Value axis) {
  const Values values = g.Inputs("values");
  const Values shapes = CallAll("ShapeN", {values});
  axis = Cast(axis, DT_INT32);
  const Value positive_axis = FloorMod(axis, Rank(values[0]));
  Values sizes;
  for (const Value& shape : shapes) {
    sizes.push_back(Gather(shape, positive_axis));
  }
  return g.CallAll("SplitV", {g.Upstream(), Pack(sizes), axis},
                   {{"num_split", static_cast<int64_t>(values.size())}});
}

void ConcatGrad(Gradient& g) {
  Values gradients = ConcatGradients(g, g.Input(0));
  gradients.insert(gradients.begin(), Value());
  g.Return(gradients);
}
REGISTER_GRADIENT("Concat", ConcatGrad);

// TensorFlow's client gradient ends the process if the axis is int64.
void ConcatV2Grad(Gradient& g) {
  Values gradients = ConcatGradients(g, g.Input(g.num_inputs() - 1));
  gradients.push_back(Value());
  g.Return(gradients);
}
REGISTER_STAND_IN("ConcatV2", ConcatV2Grad);

// Each value is one row. (The client gradient, a Split into one part, fails.)
void ParallelConcatGrad(Gradient& g) {
  if (g.num_inputs() == 1) return g.Return({g.Upstream()});
  g.Return(g.CallAll("Split", {g.Int(0), g.Upstream()},
                     {{"num_split", static_cast<int64_t>(g.num_inputs())}}));
}
REGISTER_GRADIENT("ParallelConcat", ParallelConcatGrad);

void ConjugateTransposeGrad(Gradient& g) {
  const Value axes = g.Input(1);  // may be negative
  const Value inverse = InvertPermutation(FloorMod(axes, Size(axes, axes.type())));
  g.Return({Call("ConjugateTranspose", {g.Upstream(), inverse}), Value()});
}
REGISTER_GRADIENT("ConjugateTranspose", ConjugateTransposeGrad);

void ReverseGrad(Gradient& g) { g.Return({Call("Reverse", {g.Upstream(), g.Input(1)}), Value()}); }
REGISTER_GRADIENT("Reverse", ReverseGrad);

// The row numbers, shuffled with the same key, give each row's origin. A scalar counts as one row.
// (RandomShuffle draws another permutation in each run and does not return it.)
void StatelessShuffleGrad(Gradient& g) {
  const Value x = g.Input(0), axis = g.Int(0);
  if (!IsInexact(x)) return ReturnNone(g);
  const Value shape = Shape(x);
  const Value rows = Prod(SliceVector(shape, 0, 1), axis);
  const Value columns = Prod(SliceVector(shape, 1, kToTheEnd), axis);
  const Value permutation = Call(
      "StatelessShuffle", {Range(g.Int(0), rows, g.Int(1)), g.Input(1), g.Input(2), g.Input(3)});
  const Value dy = Reshape(g.Upstream(), Pack({rows, columns}));
  g.ReturnFirst(Reshape(Gather(dy, InvertPermutation(permutation)), shape));
}
REGISTER_GRADIENT("StatelessShuffle", StatelessShuffleGrad);

// ---- Gathered rows: each row of params gets the sum of its copies' gradients.

void GatherGrad(Gradient& g) {
  const Value params = g.Input(0), indices = g.Input(1), dy = g.Upstream();
  if (!IsInexact(params)) {
    return g.Return({Value(), Value()});
  }
  const Value rows = Element(Shape(params), 0);
  g.Return({Call("UnsortedSegmentSum", {dy, indices, rows}), Value()});
}
REGISTER_GRADIENT("Gather", GatherGrad);

// Like Gather for the variable behind the resource; the gradient is dense. The first `batch_dims`
// axes of params and indices are folded into one: row i of batch b is row b n + i of all rows.
void ResourceGatherGrad(Gradient& g) {
  const Value indices = g.Input(1), dy = g.Upstream();
  const int64_t batch_dims = g.Attr<int64_t>("batch_dims");
  const Value shape = Call("VariableShape", {g.Input(0)}, {{"out_type", indices.type()}});
  if (batch_dims == 0) {
    const Value rows = Element(shape, 0);
    return g.Return({Call("UnsortedSegmentSum", {dy, indices, rows}), Value()});
  }
  const Value axis = g.Int(0);
  const Value one = g.Scalar(1, indices.type());
  const Value zero = g.Scalar(0, indices.type());
  const Value minus_one = g.Vector({-1}, indices.type());
  const Value batch = Prod(SliceVector(shape, 0, batch_dims), axis);
  const Value rows = Element(shape, batch_dims);
  const Value offsets = Range(zero, batch, one) * rows;
  const Value ids =
      Reshape(indices, Pack({batch, Size(indices, indices.type()) / Maximum(batch, one)})) +
      ExpandDims(offsets, g.Int(1));
  const Value flat_ids = Reshape(ids, minus_one);
  const Value inner = SliceVector(shape, batch_dims + 1, kToTheEnd);
  const Value flat_dy = Reshape(dy, Concat({Shape(flat_ids, indices.type()), inner}, axis));
  const Value sums = Call("UnsortedSegmentSum", {flat_dy, flat_ids, batch * rows});
  g.Return({Reshape(sums, shape), Value()});
}
REGISTER_GRADIENT("ResourceGather", ResourceGatherGrad);

void ResourceGatherNdGrad(Gradient& g) {
  const Value indices = g.Input(1);
  const Value shape = Call("VariableShape", {g.Input(0)}, {{"out_type", indices.type()}});
  g.Return({ScatterNd(indices, g.Upstream(), shape), Value()});
}
REGISTER_GRADIENT("ResourceGatherNd", ResourceGatherNdGrad);

// The gradient of TensorFlow 1's TileGrad: it sums the copies.
void TileGradGrad(Gradient& g) { g.ReturnFirst(Call("Tile", {g.Upstream(), g.Input(1)})); }
REGISTER_GRADIENT("TileGrad", TileGradGrad);

// TensorFlow's function gradients of these ops accept only int32 indices.
void ReshapeGrad(Gradient& g) { g.Return({ReshapeLike(g.Upstream(), g.Input(0)), Value()}); }
REGISTER_GRADIENT("ExpandDims", ReshapeGrad);
REGISTER_GRADIENT("Reshape", ReshapeGrad);

void TransposeGrad(Gradient& g) {
  g.Return({Transpose(g.Upstream(), InvertPermutation(g.Input(1))), Value()});
}
REGISTER_GRADIENT("Transpose", TransposeGrad);

void ReverseV2Grad(Gradient& g) {
  g.Return({g.Call("ReverseV2", {g.Upstream(), g.Input(1)}), Value()});
}
REGISTER_GRADIENT("ReverseV2", ReverseV2Grad);

void FillGrad(Gradient& g) { g.Return({Value(), SumAll(g.Upstream())}); }
REGISTER_GRADIENT("Fill", FillGrad);

}  // namespace
}  // namespace tensorflow_ext
