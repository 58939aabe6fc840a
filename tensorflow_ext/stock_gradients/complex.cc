// SPDX-License-Identifier: Apache-2.0
//
// The parts of complex numbers. TensorFlow's client gradients leave out the
// type of the parts, so that those of complex128 fail. The types of a number
// and of its parts are attributes of their own and may differ in precision.

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

Value Zero(Value like) { return like.gradient()->Scalar(0, like.type()); }

// The complex number of these parts, in the type of the op's input.
Value OfInput(Gradient& g, Value re, Value im) {
  return Cast(Complex(re, im), g.Input(0).type());
}

void RealGrad(Gradient& g) {
  const Value dy = g.Upstream();
  g.Return({OfInput(g, dy, Zero(dy))});
}
REGISTER_STAND_IN("Real", RealGrad);

void ImagGrad(Gradient& g) {
  const Value dy = g.Upstream();
  g.Return({OfInput(g, Zero(dy), dy)});
}
REGISTER_STAND_IN("Imag", ImagGrad);

void ComplexGrad(Gradient& g) {
  const Value re = g.Input(0), im = g.Input(1), dz = g.Upstream();
  const Attributes type = {{"Tout", re.type()}};
  const auto [d_re, d_im] =
      Unbroadcast(re, Call("Real", {dz}, type), im, Call("Imag", {dz}, type));
  g.Return({d_re, d_im});
}
REGISTER_STAND_IN("Complex", ComplexGrad);

// The angle of x grows along i x: its gradient is i x / |x|^2 = i / conj(x).
void AngleGrad(Gradient& g) {
  const Value dy = g.Upstream();
  g.Return({OfInput(g, Zero(dy), dy) / Conj(g.Input(0))});
}
REGISTER_STAND_IN("Angle", AngleGrad);

}  // namespace
}  // namespace tensorflow_ext
