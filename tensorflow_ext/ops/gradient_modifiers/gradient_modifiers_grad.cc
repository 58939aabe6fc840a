#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

void ReverseGradientGrad(Gradient& g) {
  g.Return({Call("TfExt>Scale", {g.Upstream()}, {{"factor", -g.Attr<float>("scale")}})});
}
REGISTER_GRADIENT("TfExt>ReverseGradient", ReverseGradientGrad);

void ReverseGradientNGrad(Gradient& g) {
  const float factor = -g.Attr<float>("scale");
  Values gradients(g.num_inputs());
  for (int i = 0; i < g.num_inputs(); ++i) {
    switch (g.Input(i).type()) {
      case tensorflow::DT_HALF:
      case tensorflow::DT_BFLOAT16:
      case tensorflow::DT_FLOAT:
      case tensorflow::DT_DOUBLE:
        gradients[i] = Call("TfExt>Scale", {g.Upstream(i)}, {{"factor", factor}});
        break;
      case tensorflow::DT_COMPLEX64:
      case tensorflow::DT_COMPLEX128:
        gradients[i] = g.Upstream(i) * factor;
        break;
      default:
        break;  // no gradient
    }
  }
  g.Return(gradients);
}
REGISTER_GRADIENT("TfExt>ReverseGradientN", ReverseGradientNGrad);

void ScaleGradientGrad(Gradient& g) {
  g.Return({Call("TfExt>Scale", {g.Upstream()}, {{"factor", g.Attr<float>("scale")}})});
}
REGISTER_GRADIENT("TfExt>ScaleGradient", ScaleGradientGrad);

void ScaleGrad(Gradient& g) {
  g.Return({g.Call("TfExt>Scale", {g.Upstream()}, g.AttrsOfOp({"factor"}))});
}
REGISTER_GRADIENT("TfExt>Scale", ScaleGrad);

void ClipGradientGradient(Gradient& g) {
  g.Return({g.Call("TfExt>Clip", {g.Upstream()}, g.AttrsOfOp({"min", "max"}))});
}
REGISTER_GRADIENT("TfExt>ClipGradient", ClipGradientGradient);

void ClipOpGradient(Gradient& g) {
  g.Return({g.Call("TfExt>ClipGrad", {g.Upstream(), g.Input(0)}, g.AttrsOfOp({"min", "max"}))});
}
REGISTER_GRADIENT("TfExt>Clip", ClipOpGradient);

// Linear in gradients, piecewise constant in x.
void ClipGradGradient(Gradient& g) {
  g.ReturnFirst(g.Call(g.op(), {g.Upstream(), g.Input(1)}, g.AttrsOfOp({"min", "max"})));
}
REGISTER_GRADIENT("TfExt>ClipGrad", ClipGradGradient);

// The gradient of the op, and that of its gradient by gradients; x is their last input.
void SignGradient(Gradient& g) {
  const Value x = g.Input(g.num_inputs() - 1);
  g.ReturnFirst(g.Call("TfExt>SignStraightThroughGrad", {g.Upstream(), x}, g.AttrsOfOp({"clip"})));
}
REGISTER_GRADIENT("TfExt>SignStraightThrough", SignGradient);
REGISTER_GRADIENT("TfExt>SignStraightThroughGrad", SignGradient);

void RoundGradient(Gradient& g) { g.Return({Call("Identity", {g.Upstream()})}); }
REGISTER_GRADIENT("TfExt>RoundStraightThrough", RoundGradient);

void StraightThroughGrad(Gradient& g) { g.Return({Value(), Call("Identity", {g.Upstream()})}); }
REGISTER_GRADIENT("TfExt>StraightThrough", StraightThroughGrad);

}  // namespace
}  // namespace tensorflow_ext
