// The gradient op of an activation is linear in dy, so its gradient for dy is the op itself. For
// the features it is f''(x) dy dd, with the upstream gradient dd.

#include <string>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// Uses the output y = max(x, 0), which is positive where x is. TensorFlow's client gradient keeps
// x, so the op that makes x cannot be fused with this one.
void ReluGradient(Gradient& g) { g.Return({Call("ReluGrad", {g.Upstream(), g.Output()})}); }
REGISTER_STAND_IN("Relu", ReluGradient);

// XGrad(dy, x) and XGrad(dy, y) of an activation X.
void ActivationByInput(Gradient& g, const std::vector<std::string>& names) {
  g.Return({g.Call(g.op() + "Grad", {g.Upstream(), g.Input(0)}, g.AttrsOfOp(names))});
}
void ActivationGrad(Gradient& g) { ActivationByInput(g, {}); }
REGISTER_GRADIENT("Softplus", ActivationGrad);
REGISTER_GRADIENT("Softsign", ActivationGrad);
void LeakyReluForwardGrad(Gradient& g) { ActivationByInput(g, {"alpha"}); }
REGISTER_GRADIENT("LeakyRelu", LeakyReluForwardGrad);
void ActivationByOutputGrad(Gradient& g) {
  g.Return({g.Call(g.op() + "Grad", {g.Upstream(), g.Output()})});
}
REGISTER_GRADIENT("Elu", ActivationByOutputGrad);
REGISTER_GRADIENT("Selu", ActivationByOutputGrad);

// ReluGrad and Relu6Grad: f'' is zero wherever it exists.
void PiecewiseLinearGradGrad(Gradient& g) {
  g.Return({g.Call(g.op(), {g.Upstream(), g.Input(1)}), Value()});
}
REGISTER_GRADIENT("ReluGrad", PiecewiseLinearGradGrad);
REGISTER_GRADIENT("Relu6Grad", PiecewiseLinearGradGrad);
void LeakyReluGradGrad(Gradient& g) {
  g.ReturnFirst(g.Call(g.op(), {g.Upstream(), g.Input(1)}, g.AttrsOfOp({"alpha"})));
}
REGISTER_GRADIENT("LeakyReluGrad", LeakyReluGradGrad);

// EluGrad and SeluGrad compute f' from the output y: where y < 0 it is y plus a constant, elsewhere
// a constant. So the gradient for y is dy dd where y < 0.
void ExponentialLinearGradGrad(Gradient& g) {
  const Value dy = g.Input(0), y = g.Input(1), dd = g.Upstream();
  g.Return({g.Call(g.op(), {dd, y}), Where(Less(y, 0), dd * dy, 0)});
}
REGISTER_GRADIENT("EluGrad", ExponentialLinearGradGrad);
REGISTER_GRADIENT("SeluGrad", ExponentialLinearGradGrad);

// softplus'' = s(x) s(-x) with the logistic function s = softplus'.
void SoftplusGradGrad(Gradient& g) {
  const Value dy = g.Input(0), x = g.Input(1), dd = g.Upstream();
  g.Return({Call("SoftplusGrad", {dd, x}), dd * dy * Sigmoid(x) * Sigmoid(-x)});
}
REGISTER_GRADIENT("SoftplusGrad", SoftplusGradGrad);

// softsign(x) = x / (1 + |x|), softsign'' = -2 sign(x) / (1 + |x|)^3.
void SoftsignGradGrad(Gradient& g) {
  const Value dy = g.Input(0), x = g.Input(1), dd = g.Upstream();
  g.Return({Call("SoftsignGrad", {dd, x}), -2 * dd * dy * Sign(x) / Pow(1 + Abs(x), 3)});
}
REGISTER_GRADIENT("SoftsignGrad", SoftsignGradGrad);

// log s with s = softmax(x) along the last axis. TensorFlow's client gradient uses the second axis.
void LogSoftmaxGrad(Gradient& g) {
  const Value dy = g.Upstream(), s = Exp(g.Output());
  g.Return({dy - s * Sum(dy, g.Int(-1), true)});
}
REGISTER_STAND_IN("LogSoftmax", LogSoftmaxGrad);

}  // namespace
}  // namespace tensorflow_ext
