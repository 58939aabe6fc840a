// Formulas of another library: one for an op of its own, and two for ops that already have a
// gradient.

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace {

using namespace tensorflow_ext;  // NOLINT: as an author would

// Reads and writes attributes of every kind.
void OwnFormula(Gradient& g) {
  Value x = g.Input(0), dy = g.Upstream();
  const float scale = g.Attr<float>("scale");
  const Value sum = g.Call("Sum", {x, g.Ints({0})}, {{"keep_dims", true}});
  Values parts = CallAll("Split", {g.Int(0), x}, {{"num_split", 3}});
  g.Return({dy * scale + sum * Concat(parts, g.Int(0))});
}
TFEXT_REGISTER_GRADIENT("Outside>Formula", OwnFormula);

// TensorFlow has one in Python, this library in C and C++.
void SecondErfc(Gradient& g) { g.Return({3 * g.Upstream()}); }
TFEXT_REGISTER_GRADIENT("Erfc", SecondErfc);

// TensorFlow has one everywhere.
void OtherTanh(Gradient& g) { g.Return({5 * g.Upstream() + g.Input(0)}); }
TFEXT_REGISTER_STAND_IN("Tanh", OtherTanh);

// TensorFlow has one in Python, this library elsewhere.
void OtherErfinv(Gradient& g) { g.Return({7 * g.Upstream()}); }
TFEXT_REGISTER_STAND_IN("Erfinv", OtherErfinv);

// An op of this library.
void OtherMish(Gradient& g) { g.Return({11 * g.Upstream()}); }
TFEXT_REGISTER_STAND_IN("TfExt>Mish", OtherMish);

}  // namespace
