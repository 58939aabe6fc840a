// Gradients of ops that call functions, for the function runtime. The runtime names a function's
// gradient, by a SymbolicGradient with the function as its attribute, so a definition can call it.
// Clients have no such name; their gradients (control_flow.cc) build the gradient functions from
// the graph's functions.
//
// While has no gradient here: it needs functions that keep the results of each iteration. Neither
// have Switch and Merge: the function runtime differentiates a node as a call, and a call with a
// dead input returns nothing.

#include <string>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

std::vector<DataType> TypesOf(const Values& values) {
  std::vector<DataType> types;
  for (const Value& value : values) types.push_back(value.type());
  return types;
}

// The types of the gradients of the op's inputs from `first` on. The function runtime treats
// variables as floats.
std::vector<DataType> ResultTypes(Gradient& g, int first) {
  std::vector<DataType> types;
  for (int i = first; i < g.num_inputs(); ++i) {
    const DataType type = g.Input(i).type();
    types.push_back(type == DT_RESOURCE ? DT_FLOAT : type);
  }
  return types;
}

// The arguments of the functions' gradients: the functions' arguments, which are the op's inputs
// from `first` on, and all upstream gradients.
Values GradientArguments(Gradient& g, int first) {
  Values arguments;
  for (int i = first; i < g.num_inputs(); ++i) arguments.push_back(g.Input(i));
  for (const Value& dy : g.Upstreams()) arguments.push_back(dy);
  return arguments;
}

// Returns `results` for the inputs from `first` on.
void ReturnFrom(Gradient& g, int first, Values results) {
  results.insert(results.begin(), first, Value());
  g.Return(results);
}

// y = f(x...).
void CallGrad(Gradient& g) {
  const Values arguments = GradientArguments(g, 0);
  ReturnFrom(
      g, 0,
      g.CallAll("SymbolicGradient", {arguments},
                {{"Tin", TypesOf(arguments)}, {"Tout", ResultTypes(g, 0)}, {"f", OfOp{"f"}}}));
}
REGISTER_FUNCTION_RUNTIME_GRADIENT("PartitionedCall", CallGrad);
REGISTER_FUNCTION_RUNTIME_GRADIENT("StatefulPartitionedCall", CallGrad);

// The same op with the gradients of its functions, which `attributes` names. Its first input
// selects the device or the function.
void ChoiceGrad(Gradient& g, const std::vector<std::string>& attributes) {
  const Values arguments = GradientArguments(g, 1);
  const std::vector<DataType> results = ResultTypes(g, 1);
  if (results.empty()) return ReturnNone(g);
  const std::vector<DataType> types = TypesOf(arguments);
  Attributes given = {{"Tin", types}, {"Tout", results}};
  for (const std::string& name : attributes) {
    given.push_back({name.c_str(), GradientOf{name, types, results}});
  }
  ReturnFrom(g, 1, g.CallAll(g.op(), {g.Input(0), arguments}, given));
}
void RemoteCallGrad(Gradient& g) { ChoiceGrad(g, {"f"}); }
void IfGrad(Gradient& g) { ChoiceGrad(g, {"then_branch", "else_branch"}); }
void CaseGrad(Gradient& g) { ChoiceGrad(g, {"branches"}); }
REGISTER_FUNCTION_RUNTIME_GRADIENT("RemoteCall", RemoteCallGrad);
REGISTER_FUNCTION_RUNTIME_GRADIENT("If", IfGrad);
REGISTER_FUNCTION_RUNTIME_GRADIENT("StatelessIf", IfGrad);
REGISTER_FUNCTION_RUNTIME_GRADIENT("Case", CaseGrad);
REGISTER_FUNCTION_RUNTIME_GRADIENT("StatelessCase", CaseGrad);

// A call for each row of the arguments. Each call gets the shared arguments as a row, so the
// gradient function has its arguments in order.
void MapDefunGrad(Gradient& g) {
  Values rows = g.Inputs("arguments");
  const Values shared = g.Inputs("captured_inputs");
  const Value count = SliceVector(Shape(rows[0]), 0, 1);
  for (const Value& value : shared) {
    if (value.type() == DT_RESOURCE || value.type() == DT_VARIANT) {
      return g.Unimplemented(
          "captured_inputs may only hold numbers; read variables, and take tensors out of "
          "variants, outside the function");
    }
    rows.push_back(BroadcastTo(value, Concat({count, Shape(value)}, g.Int(0))));
  }
  for (const Value& dy : g.Upstreams()) rows.push_back(dy);
  const std::vector<DataType> types = TypesOf(rows), results = ResultTypes(g, 0);
  Values gradients = g.CallAll("MapDefun", {rows, Values()},
                               {{"Targuments", types},
                                {"Tcaptured", std::vector<DataType>()},
                                {"output_types", results},
                                {"output_shapes", std::vector<AnyShape>(results.size())},
                                {"f", GradientOf{"f", types, results}},
                                {"max_intra_op_parallelism", OfOp{"max_intra_op_parallelism"}}});
  for (size_t i = g.num_inputs() - shared.size(); i < gradients.size(); ++i) {
    gradients[i] = Sum(gradients[i], g.Int(0));
  }
  g.Return(gradients);
}
REGISTER_FUNCTION_RUNTIME_GRADIENT("MapDefun", MapDefunGrad);

}  // namespace
}  // namespace tensorflow_ext
