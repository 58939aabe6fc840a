// SPDX-License-Identifier: Apache-2.0
//
// Rounding has a derivative of zero almost everywhere. Quantization-aware
// training takes the straight-through estimate instead: the gradient passes
// where the input lies within the range, and elsewhere goes to the bound that
// clips it (Krishnamoorthi, "Quantizing deep convolutional networks for
// efficient inference", 2018).

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

void FakeQuantWithMinMaxArgsGrad(Gradient& g) {
  g.Return({Call("FakeQuantWithMinMaxArgsGradient", {g.Upstream(), g.Input(0)},
                 g.AttrsOfOp({"min", "max", "num_bits", "narrow_range"}))});
}
REGISTER_GRADIENT("FakeQuantWithMinMaxArgs", FakeQuantWithMinMaxArgsGrad);

void FakeQuantWithMinMax(Gradient& g, const char* gradient_op) {
  const Values d =
      CallAll(gradient_op, {g.Upstream(), g.Input(0), g.Input(1), g.Input(2)},
              g.AttrsOfOp({"num_bits", "narrow_range"}));
  g.Return({d[0], d[1], d[2]});
}
void FakeQuantWithMinMaxVarsGrad(Gradient& g) {
  FakeQuantWithMinMax(g, "FakeQuantWithMinMaxVarsGradient");
}
void FakeQuantWithMinMaxVarsPerChannelGrad(Gradient& g) {
  FakeQuantWithMinMax(g, "FakeQuantWithMinMaxVarsPerChannelGradient");
}
REGISTER_GRADIENT("FakeQuantWithMinMaxVars", FakeQuantWithMinMaxVarsGrad);
REGISTER_GRADIENT("FakeQuantWithMinMaxVarsPerChannel",
                  FakeQuantWithMinMaxVarsPerChannelGrad);

// These gradients are linear in dy. With the range as an attribute: a mask.
void FakeQuantWithMinMaxArgsGradientGrad(Gradient& g) {
  g.Return({g.Call(g.op(), {g.Upstream(), g.Input(1)},
                   g.AttrsOfOp({"min", "max", "num_bits", "narrow_range"})),
            Value()});
}
REGISTER_GRADIENT("FakeQuantWithMinMaxArgsGradient",
                  FakeQuantWithMinMaxArgsGradientGrad);

// With the range as inputs each dy goes to one of x, min and max, and gets back
// the upstream gradient of that one. The range in use holds 0, so what is out
// of it lies below it or above it as it lies below or above 0.
void FakeQuantWithMinMaxGradientGrad(Gradient& g) {
  const Value x = g.Input(1);
  const Value passes = g.Call(g.op(), {OnesLike(x), x, g.Input(2), g.Input(3)},
                              g.AttrsOfOp({"num_bits", "narrow_range"}));
  const Value clipped = Where(Less(x, 0), g.Upstream(1), g.Upstream(2));
  g.Return({Where(Greater(passes, 0), g.Upstream(0), clipped), Value(), Value(),
            Value()});
}
REGISTER_GRADIENT("FakeQuantWithMinMaxVarsGradient",
                  FakeQuantWithMinMaxGradientGrad);
REGISTER_GRADIENT("FakeQuantWithMinMaxVarsPerChannelGradient",
                  FakeQuantWithMinMaxGradientGrad);

// V2 passes the gradient everywhere, as Python's _QuantizeAndDequantizeV2Grad.
void QuantizeAndDequantizeV2Grad(Gradient& g) {
  g.Return({g.Upstream(), Value(), Value()});
}
REGISTER_GRADIENT("QuantizeAndDequantizeV2", QuantizeAndDequantizeV2Grad);

// TensorFlow's client gradient gives the shape where x belongs.
void QuantizeAndDequantizeV4Grad(Gradient& g) {
  g.Return(CallAll("QuantizeAndDequantizeV4Grad",
                   {g.Upstream(), g.Input(0), g.Input(1), g.Input(2)},
                   g.AttrsOfOp({"axis"})));
}
REGISTER_STAND_IN("QuantizeAndDequantizeV4", QuantizeAndDequantizeV4Grad);

// dx = dy where min <= x <= max, else 0; the gradients by min and max are 0.
// This is linear in dy and its own adjoint.
void QuantizeAndDequantizeV4GradGrad(Gradient& g) {
  g.Return({Call("QuantizeAndDequantizeV4Grad",
                 {g.Upstream(0), g.Input(1), g.Input(2), g.Input(3)},
                 g.AttrsOfOp({"axis"})),
            Value(), Value(), Value()});
}
REGISTER_GRADIENT("QuantizeAndDequantizeV4Grad",
                  QuantizeAndDequantizeV4GradGrad);

}  // namespace
}  // namespace tensorflow_ext
