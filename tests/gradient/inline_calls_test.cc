// SPDX-License-Identifier: Apache-2.0
//
// InlineCalls of a C++ client, which links libtensorflow_ext.so. Prints what is
// wrong and ends with 1.

#include "tensorflow_ext/inline_calls.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/ops/standard_ops.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow/core/public/session.h"

namespace {

using tensorflow::DT_DOUBLE;
using tensorflow::FunctionDefHelper;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::Tensor;

void Check(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
  std::exit(1);
}

void Check(const absl::Status& status) {
  Check(status.ok(), status.ToString());
}

// One function: sin(x) x.
tensorflow::FunctionDefLibrary Functions() {
  tensorflow::FunctionDefLibrary library;
  *library.add_function() = FunctionDefHelper::Create(
      "Wave", {"x: double"}, {"y: double"}, {},
      {{{"sine"}, "Sin", {"x"}, {{"T", DT_DOUBLE}}},
       {{"product"}, "Mul", {"sine:y", "x"}, {{"T", DT_DOUBLE}}}},
      {{"y", "product:z"}});
  return library;
}

Output Call(const Scope& scope, const Output& x) {
  tensorflow::NameAttrList function;
  function.set_name("Wave");
  NodeBuilder builder(scope.GetUniqueNameForOp("call"), "PartitionedCall");
  builder.Input(std::vector<NodeBuilder::NodeOut>{{x.node(), x.index()}})
      .Attr("Tout", tensorflow::DataTypeVector{DT_DOUBLE})
      .Attr("f", function);
  Node* node = nullptr;
  Check(builder.Finalize(scope.graph(), &node));
  Check(scope.DoShapeInference(node));
  return Output(node, 0);
}

double Run(const Scope& scope, const Output& tensor, double x) {
  tensorflow::GraphDef graph_def;
  Check(scope.ToGraphDef(&graph_def));
  const std::unique_ptr<tensorflow::Session> session(
      tensorflow::NewSession(tensorflow::SessionOptions()));
  Check(session->Create(graph_def));
  std::vector<Tensor> fetched;
  Check(session->Run({{"x", Tensor(x)}}, {tensor.name()}, {}, &fetched));
  return fetched[0].scalar<double>()();
}

double Wave(double x) { return std::sin(x) * x; }

double Slope(double x) { return std::cos(x) * x + std::sin(x); }

}  // namespace

int main() {
  const Scope scope = Scope::NewRootScope();
  Check(scope.graph()->AddFunctionLibrary(Functions()));
  const Output x =
      tensorflow::ops::Placeholder(scope.WithOpName("x"), DT_DOUBLE);
  const Output y = tensorflow::ops::Neg(scope, Call(scope, Call(scope, x)));

  std::vector<Output> inlined;
  Check(tensorflow_ext::InlineCalls(scope, {y, x}, &inlined));
  Check(inlined.size() == 2, "as many tensors as were asked for");
  Check(inlined[1].node() == x.node(), "what no call leads to stays");
  Check(inlined[0].node() != y.node(), "the result of a call is another one");

  std::vector<Output> gradients;
  Check(tensorflow::AddSymbolicGradients(scope, {inlined[0]}, {x}, &gradients));
  for (const Node* node : scope.graph()->op_nodes()) {
    Check(node->type_string() != "PartitionedCall" ||
              node->name().rfind("call", 0) == 0,
          "a call was added: " + node->name());
  }
  const double at = 0.8;
  const double expected = -Slope(Wave(at)) * Slope(at);
  Check(std::abs(Run(scope, inlined[0], at) + Wave(Wave(at))) < 1e-12, "y");
  Check(std::abs(Run(scope, gradients[0], at) - expected) < 1e-12, "dy/dx");

  std::vector<Output> untouched{y};
  const absl::Status bad =
      tensorflow_ext::InlineCalls(scope, {Output(x.node(), 3)}, &untouched);
  Check(absl::IsInvalidArgument(bad), "an output that is not there");
  Check(untouched.size() == 1, "nothing is given back after an error");
  std::puts("fine");
  return 0;
}
