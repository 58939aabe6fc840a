// The gradients, for every client. They have their own file, because formulas and functors have
// functions with the same names.

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/gradient/register_op_gradient.h"
#include "tensorflow_ext/type_attributes.h"

namespace your {
namespace {

using tensorflow_ext::Gradient;
using tensorflow_ext::Value;
using FDH = tensorflow::FunctionDefHelper;

// A table in TensorFlow's own form: nodes and their inputs.
absl::Status SquareplusGradient(const tensorflow::AttrSlice& /*attrs*/,
                                tensorflow::FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs: the op's inputs, an upstream gradient for each output
      {"x: T", "dy: T"},
      // Ret val defs: a gradient for each input
      {"dx: T"},
      // Attr defs
      {tensorflow_ext::kFloatingT, "b: float = 4"},
      // Nodes
      {
        {{"dx"}, "Your>SquareplusGrad", {"dy", "x"},
         {{"T", "$T"}, {"b", "$b"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
TFEXT_REGISTER_OP_GRADIENT("Your>Squareplus", SquareplusGradient);

// A formula. The op is linear in `gradients`; its derivative by x is gradients y'', where y'' = b /
// (2 (x^2 + b)^(3/2)).
void SquareplusGradGradient(Gradient& g) {
  const Value gradients = g.Input(0), x = g.Input(1), dd = g.Upstream();
  const double b = g.Attr<float>("b");
  const Value root = Sqrt(Square(x) + b);
  const Value by_gradients = g.Call("Your>SquareplusGrad", {dd, x}, g.AttrsOfOp({"b"}));
  g.Return({by_gradients, dd * gradients * (b / 2) / (root * root * root)});
}
TFEXT_REGISTER_GRADIENT("Your>SquareplusGrad", SquareplusGradGradient);

}  // namespace
}  // namespace your
