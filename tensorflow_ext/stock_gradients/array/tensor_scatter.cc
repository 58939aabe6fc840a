// TensorScatter*: a copy of a tensor with updates at indices. Updates outside of the tensor get
// zeros if such indices are ignored (bad_indices_policy).

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The elements of `x` at the op's indices. GatherNd does not accept uint16.
Value AtIndices(Gradient& g, Value x) {
  const bool is_short = g.Input(1).type() == DT_UINT16;
  const Value indices = is_short ? Cast(g.Input(1), DT_INT32) : g.Input(1);
  return Call("GatherNd", {x, indices}, g.AttrsOfOp({"bad_indices_policy"}));
}

void TensorScatterAddGrad(Gradient& g) {
  const Value dy = g.Upstream();
  g.Return({dy, Value(), AtIndices(g, dy)});
}
REGISTER_GRADIENT("TensorScatterAdd", TensorScatterAddGrad);

void TensorScatterSubGrad(Gradient& g) {
  const Value dy = g.Upstream();
  g.Return({dy, Value(), -AtIndices(g, dy)});
}
REGISTER_GRADIENT("TensorScatterSub", TensorScatterSubGrad);

// If several updates have the same element, any of them may stay, so each gets that element's
// gradient (like Python's _TensorScatterUpdateGrad).
void TensorScatterUpdateGrad(Gradient& g) {
  const Value indices = g.Input(1), updates = g.Input(2), dy = g.Upstream();
  const Value d_tensor = Call("TensorScatterUpdate", {dy, indices, ZerosLike(updates)},
                              g.AttrsOfOp({"bad_indices_policy"}));
  g.Return({d_tensor, Value(), AtIndices(g, dy)});
}
REGISTER_GRADIENT("TensorScatterUpdate", TensorScatterUpdateGrad);

// The element and the updates that attain the extremum share its gradient evenly (like Python's
// _TensorScatterMinOrMaxGrad).
void TensorScatterExtremumGrad(Gradient& g) {
  const Value tensor = g.Input(0), indices = g.Input(1), updates = g.Input(2);
  const Value output = g.Output(), dy = g.Upstream();
  const Value tensor_wins = Cast(Equal(tensor, output), dy.type());
  const Value update_wins = Cast(Equal(updates, AtIndices(g, output)), dy.type());
  const Value winners =
      tensor_wins + Call("ScatterNd", {indices, update_wins, Shape(tensor, indices.type())},
                         g.AttrsOfOp({"bad_indices_policy"}));
  const Value share = dy / winners;
  g.Return({share * tensor_wins, Value(), AtIndices(g, share) * update_wins});
}
REGISTER_GRADIENT("TensorScatterMax", TensorScatterExtremumGrad);
REGISTER_GRADIENT("TensorScatterMin", TensorScatterExtremumGrad);

}  // namespace
}  // namespace tensorflow_ext
