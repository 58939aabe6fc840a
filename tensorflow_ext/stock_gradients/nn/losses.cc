// Losses whose kernels also compute the gradient for the logits. The gradient of the loss scales
// it, for each example.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The second output is s - onehot(labels) with s = softmax(x). The Jacobian of softmax is diag(s) -
// s s^T.
void SparseSoftmaxCrossEntropyGrad(Gradient& g) {
  const Value dloss = g.Upstream(0), dbackprop = g.Upstream(1);
  const Value last = g.Int(-1);
  const Value s = Call("Softmax", {g.Input(0)});
  g.Return(
      {ExpandDims(dloss, last) * g.Output(1) + (dbackprop - Sum(dbackprop * s, last, true)) * s,
       Value()});
}
REGISTER_GRADIENT("SparseSoftmaxCrossEntropyWithLogits", SparseSoftmaxCrossEntropyGrad);

// loss = -sum(labels log s), and the second output is s - labels. x and labels broadcast.
// TensorFlow's client gradient has mismatched types for floats other than float, and does not sum
// over axes that were broadcast.
void SoftmaxCrossEntropyGrad(Gradient& g) {
  const Value x = g.Input(0), labels = g.Input(1);
  const Value dloss = ExpandDims(g.Upstream(0), g.Int(-1));
  const Value dbackprop = g.Upstream(1);
  const Value s = Call("Softmax", {x});
  const Value dx = dloss * g.Output(1) + (dbackprop - Sum(dbackprop * s, g.Int(-1), true)) * s;
  const Value dlabels = -(dloss * Call("LogSoftmax", {x}) + dbackprop);
  // The optimizer trusts the op that x and labels have one shape if BroadcastGradientArgs directly
  // follows both shapes.
  const Value x_shape = Shape(x), labels_shape = Shape(labels);
  const Value shape = Maximum(x_shape, labels_shape);
  const auto sum_to = [&](Value gradient, Value own) {
    const Values axes = CallAll("BroadcastGradientArgs", {own, shape});
    return Reshape(Sum(gradient, axes[0]), own);
  };
  g.Return({sum_to(dx, x_shape), sum_to(dlabels, labels_shape)});
}
REGISTER_STAND_IN("SoftmaxCrossEntropyWithLogits", SoftmaxCrossEntropyGrad);

// No op computes how the gradient for the logits [time, batch, class] depends on them.
// Differentiating it is an error instead of a wrong number.
void CtcLossGrad(Gradient& g) {
  const Value gradient = Call("PreventGradient", {g.Output(1)},
                              {{"message",
                                "CTCLoss has no second derivative: its kernel computes loss and "
                                "gradient together"}});
  g.Return({ExpandDims(g.Upstream(0), g.Int(-1)) * gradient, Value(), Value(), Value()});
}
REGISTER_GRADIENT("CTCLoss", CtcLossGrad);
REGISTER_GRADIENT("CTCLossV2", CtcLossGrad);

}  // namespace
}  // namespace tensorflow_ext
