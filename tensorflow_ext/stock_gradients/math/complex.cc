// Complex numbers and their parts. TensorFlow's client gradients omit the type of the parts, so
// those for complex128 fail. The types of a number and of its parts are separate attributes and may
// differ in precision.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

Value Zero(Value like) { return like.gradient()->Scalar(0, like.type()); }

// The complex number with these parts, in the type of the op's input.
Value OfInput(Gradient& g, Value re, Value im) { return Cast(Complex(re, im), g.Input(0).type()); }

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
  const auto [d_re, d_im] = Unbroadcast(re, Call("Real", {dz}, type), im, Call("Imag", {dz}, type));
  g.Return({d_re, d_im});
}
REGISTER_STAND_IN("Complex", ComplexGrad);

// The angle of x grows along i x, so its gradient is i x / |x|^2 = i / conj(x).
void AngleGrad(Gradient& g) {
  const Value dy = g.Upstream();
  g.Return({OfInput(g, Zero(dy), dy) / Conj(g.Input(0))});
}
REGISTER_STAND_IN("Angle", AngleGrad);

// Pairs of numbers as the parts of complex numbers, the reverse, and casts to the same type. Other
// reinterpretations of the bits have no derivative.
void BitcastGrad(Gradient& g) {
  const Value x = g.Input(0), dy = g.Upstream();
  const bool are_parts =
      (IsComplex(x) && PartType(x) == dy.type()) || (IsComplex(dy) && PartType(dy) == x.type());
  if (!IsInexact(x) || !(are_parts || x.type() == dy.type())) {
    return ReturnNone(g);
  }
  g.Return({Call("Bitcast", {dy}, {{"type", x.type()}})});
}
REGISTER_GRADIENT("Bitcast", BitcastGrad);

}  // namespace
}  // namespace tensorflow_ext
