// Formulas with one mistake each, in a separate library that includes no header of TensorFlow. The
// line of each mistake ends in "// mistake: <op>". formula_op_types.cc registers the ops,
// Faulty>..., without gradients.

#include <stdexcept>

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace {

using namespace tensorflow_ext;  // NOLINT: as an author would

#define FAULTY(name)                              \
  void name(Gradient& g);                         \
  TFEXT_REGISTER_GRADIENT("Faulty>" #name, name); \
  void name(Gradient& g)

Value Slope(Gradient& g) {
  Value slope;
  if (g.op() == "never") slope = g.Upstream();
  return slope;
}

FAULTY(UnsetFactor) {
  Value dy = g.Upstream();
  g.Return({dy * Slope(g)});  // mistake: UnsetFactor
}
FAULTY(UnsetFactors) {
  g.Return({Slope(g) * Slope(g)});  // mistake: UnsetFactors
}
FAULTY(UnsetArgument) {
  Value slope = Exp(Slope(g));  // mistake: UnsetArgument
  g.Return({slope * g.Upstream()});
}
FAULTY(UnsetAmongArguments) {
  Value dy = g.Upstream();
  Value sum = AddN({dy, Slope(g)});  // mistake: UnsetAmongArguments
  g.Return({sum});
}
FAULTY(UnsetShape) {
  g.Return({Element(Slope(g), 0)});  // mistake: UnsetShape
}
FAULTY(TwoNumbers) {
  Value dy = g.Upstream();
  Value slope = Maximum(1, 2);  // mistake: TwoNumbers
  g.Return({dy * slope});
}
FAULTY(ReturnsTwice) {
  g.Return({g.Upstream()});
  g.Return({2 * g.Upstream()});  // mistake: ReturnsTwice
}
FAULTY(ReturnsNothing) { g.Upstream(); }
FAULTY(ReturnsTooMuch) {
  g.Return({g.Upstream(), Value()});  // mistake: ReturnsTooMuch
}
FAULTY(ReturnsAnotherType) {
  g.Return({Cast(g.Upstream(), DT_INT64)});  // mistake: ReturnsAnotherType
}
// Right only for float.
FAULTY(FloatConstant) {
  Value two = g.Scalar(2, DT_FLOAT);
  g.Return({g.Upstream() * two});  // mistake: FloatConstant
}
FAULTY(UnknownOp) {
  g.Return({Call("Faulty>Nonexistent", {g.Upstream()})});  // mistake: UnknownOp
}
FAULTY(UnknownNodeAttribute) {
  g.Return({Call("Exp", {g.Upstream()}, {{"sharpness", 2.0}})});  // mistake: UnknownNodeAttribute
}
FAULTY(OpWithoutOutput) {
  g.Return({g.Call("NoOp", {})});  // mistake: OpWithoutOutput
}
FAULTY(NoSuchInput) {
  g.Return({g.Input(3)});  // mistake: NoSuchInput
}
FAULTY(NoSuchArgument) {
  g.Return(g.Inputs("z"));  // mistake: NoSuchArgument
}
FAULTY(NoSuchOutput) {
  g.Return({g.Output(-1)});  // mistake: NoSuchOutput
}
FAULTY(NoSuchAttribute) {
  Value dy = g.Upstream();
  g.Return({dy * g.Attr<float>("sharpness")});  // mistake: NoSuchAttribute
}
FAULTY(AttributeOfAnotherKind) {
  Value dy = g.Upstream();
  g.Return({dy * g.Attr<bool>("scale")});  // mistake: AttributeOfAnotherKind
}
FAULTY(NoSuchAttributeOfOp) {
  Value x = g.Input(0);
  g.Return({Call("Cast", {x}, g.AttrsOfOp({"U"}))});  // mistake: NoSuchAttributeOfOp
}
FAULTY(ConstantOfStrings) {
  constexpr DataType kString{7};
  g.Return({g.Scalar(1, kString)});  // mistake: ConstantOfStrings
}
FAULTY(AfterNothing) {
  g.Return({g.After(g.Upstream(), Slope(g))});  // mistake: AfterNothing
}
FAULTY(Throws) {
  g.Upstream();  // mistake: Throws
  throw std::runtime_error("no table for this scale");
}
FAULTY(ThrowsANumber) {
  g.Upstream();  // mistake: ThrowsANumber
  throw 7;
}
FAULTY(IsUnimplemented) { g.Unimplemented("scale=1 is not supported"); }

}  // namespace
