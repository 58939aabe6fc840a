// SPDX-License-Identifier: Apache-2.0
//
// Losses whose kernels compute the gradient by the logits beside the loss: the
// gradient of the loss scales it, example by example.

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The second output is s - onehot(labels) with s = softmax(x), and the Jacobian
// of softmax is diag(s) - s s^T.
void SparseSoftmaxCrossEntropyGrad(Gradient& g) {
  const Value dloss = g.Upstream(0), dbackprop = g.Upstream(1);
  const Value last = g.Int(-1);
  const Value s = Call("Softmax", {g.Input(0)});
  g.Return({ExpandDims(dloss, last) * g.Output(1) +
                (dbackprop - Sum(dbackprop * s, last, true)) * s,
            Value()});
}
REGISTER_GRADIENT("SparseSoftmaxCrossEntropyWithLogits",
                  SparseSoftmaxCrossEntropyGrad);

// The gradient by the logits [time, batch, class] depends on them in a way that
// no op computes: differentiating it is an error instead of a wrong number.
void CtcLossGrad(Gradient& g) {
  const Value gradient =
      Call("PreventGradient", {g.Output(1)},
           {{"message",
             "CTCLoss has no second derivative: its kernel computes loss and "
             "gradient together"}});
  g.Return({ExpandDims(g.Upstream(0), g.Int(-1)) * gradient, Value(), Value(),
            Value()});
}
REGISTER_GRADIENT("CTCLoss", CtcLossGrad);
REGISTER_GRADIENT("CTCLossV2", CtcLossGrad);

}  // namespace
}  // namespace tensorflow_ext
