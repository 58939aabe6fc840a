// Typed ops, AddSymbolicGradients, InlineCalls and UseModelGradients of a C++ client that links
// libtensorflow_ext.so: their results, and their errors if they are used wrongly. Prints each
// failure and then exits with 1.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/ops/array_ops.h"
#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/cc/ops/math_ops.h"
#include "tensorflow/cc/ops/while_loop.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow/core/public/session.h"
#include "tensorflow_ext/cc/gradients.h"
#include "tensorflow_ext/cc/ops.h"
#include "tensorflow_ext/inline_calls.h"
#include "tensorflow_ext/use_model_gradients.h"

namespace {

namespace ops = tensorflow::ops;
namespace ext = tensorflow_ext::ops;
using tensorflow::DT_DOUBLE;
using tensorflow::DT_INT32;
using tensorflow::Input;
using tensorflow::Output;
using tensorflow::OutputList;
using tensorflow::Scope;
using tensorflow::Tensor;
using FDH = tensorflow::FunctionDefHelper;
using Outputs = std::vector<Output>;

void Check(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
  std::exit(1);
}

void Check(const absl::Status& status) { Check(status.ok(), status.ToString()); }

void CheckError(const absl::Status& status, absl::StatusCode code, const std::string& part) {
  Check(status.code() == code && absl::StrContains(std::string(status.message()), part),
        "expected an error with '" + part + "', got " + status.ToString());
}

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

// The values of one run at x = `at` of double tensors that have one element.
std::vector<double> Run(const Scope& scope, const Outputs& tensors, double at) {
  tensorflow::GraphDef graph_def;
  Check(scope.ToGraphDef(&graph_def));
  const std::unique_ptr<tensorflow::Session> session(
      tensorflow::NewSession(tensorflow::SessionOptions()));
  Check(session->Create(graph_def));
  std::vector<std::string> names;
  std::vector<Tensor> fetched;
  for (const Output& tensor : tensors) names.push_back(tensor.name());
  Check(session->Run({{"x", Tensor(at)}}, names, {}, &fetched));
  std::vector<double> values;
  for (const Tensor& tensor : fetched) values.push_back(tensor.flat<double>()(0));
  return values;
}

double Run(const Scope& scope, const Output& tensor, double at) {
  return Run(scope, Outputs{tensor}, at)[0];
}

void CheckNear(double found, double expected, const std::string& what) {
  Check(std::abs(found - expected) < 1e-12,
        what + " is " + std::to_string(found) + ", expected " + std::to_string(expected));
}

Output Placeholder(const Scope& scope, const std::string& name) {
  return ops::Placeholder(scope.WithOpName(name), DT_DOUBLE,
                          ops::Placeholder::Shape(tensorflow::TensorShape()));
}

// ----- Gradients. -----

// `dys`: the upstream gradients, ones if it is empty.
Outputs Gradients(const Scope& scope, const Outputs& ys, const Outputs& xs,
                  const Outputs& dys = {}) {
  Outputs found;
  Check(dys.empty() ? tensorflow_ext::AddSymbolicGradients(scope, ys, xs, &found)
                    : tensorflow_ext::AddSymbolicGradients(scope, ys, xs, dys, &found));
  return found;
}

void OneOutputDependsOnAnother() {
  const Scope scope = Scope::NewRootScope();
  const Output x = Placeholder(scope, "x");
  const Output y = ops::Tanh(scope, x);
  const Output z = ops::Multiply(scope, x, y);
  Outputs gradients = Gradients(scope, {y, z}, {x});
  const double at = 0.7, tanh = std::tanh(at), slope = 1 - tanh * tanh;
  CheckNear(Run(scope, gradients[0], at), slope + tanh + at * slope, "d(y + z)");

  const Output dy = ops::Const(scope, 3.0), dz = ops::Const(scope, -2.0);
  gradients = Gradients(scope, {y, z}, {x}, {dy, dz});
  CheckNear(Run(scope, gradients[0], at), 3 * slope - 2 * (tanh + at * slope), "d(3 y - 2 z)");
  gradients = Gradients(scope, {y, z}, {x}, {tensorflow::NoGradient(), dz});
  CheckNear(Run(scope, gradients[0], at), -2 * (tanh + at * slope), "d(-2 z)");
}

void UnconnectedInputs() {
  const Scope scope = Scope::NewRootScope();
  const Output x = Placeholder(scope, "x"), w = Placeholder(scope, "w");
  const Output y = ext::Mish(scope, x);
  const Output behind = ops::Neg(scope, y);
  const Outputs gradients = Gradients(scope, {y}, {w, x, behind, y});
  Check(gradients.size() == 4, "a gradient for each input");
  for (const int i : {0, 2}) {
    Check(gradients[i] == tensorflow::NoGradient(), "there is no path");
  }
  // mish(x) = x tanh(softplus(x)); softplus(0) = log 2 and tanh(log 2) = 3 / 5.
  CheckNear(Run(scope, gradients[1], 0), 0.6, "the slope of mish");
  CheckNear(Run(scope, gradients[3], 0), 1, "dy / dy");

  const Outputs none = {tensorflow::NoGradient()};
  Check(Gradients(scope, {y}, {w}) == none, "none is connected");
  Check(Gradients(scope, {y}, {x}, none) == none, "nothing is upstream");
}

void TheSameInputTwice() {
  const Scope scope = Scope::NewRootScope();
  const Output x = Placeholder(scope, "x"), w = ops::Const(scope, 5.0);
  const Output y = ops::Multiply(scope, w, ops::Square(scope, x));
  const Outputs gradients = Gradients(scope, {y}, {x, w, x});
  CheckNear(Run(scope, gradients[0], 3), 30, "d(w x^2) / dx");
  CheckNear(Run(scope, gradients[1], 3), 9, "d(w x^2) / dw");
  CheckNear(Run(scope, gradients[2], 3), 30, "d(w x^2) / dx, once more");
}

void WrongTensors() {
  const Scope scope = Scope::NewRootScope(), other = Scope::NewRootScope();
  const Output x = Placeholder(scope, "x"), y = ops::Neg(scope, x);
  const std::vector<std::pair<Output, std::string>> wrong = {
      {Output(), "[0] is not a tensor"},
      {Placeholder(other, "elsewhere"), "'elsewhere' of another graph"},
      {Output(x.node(), 7), "[0] is output 7 of node 'x' of op Placeholder"},
      {Output(x.node(), -2), "output -2"},
  };
  const Outputs before = {y};
  Outputs gradients = before;
  for (const auto& [tensor, message] : wrong) {
    for (const absl::Status& status : {
             tensorflow_ext::AddSymbolicGradients(scope, {tensor}, {x}, &gradients),
             tensorflow_ext::AddSymbolicGradients(scope, {y}, {tensor}, &gradients),
             tensorflow_ext::AddSymbolicGradients(scope, {y}, {x}, {tensor}, &gradients),
         }) {
      CheckError(status, kInvalid, message);
    }
  }
  CheckError(tensorflow_ext::AddSymbolicGradients(scope, {}, {x}, &gradients), kInvalid,
             "at least one output");
  CheckError(tensorflow_ext::AddSymbolicGradients(scope, {y}, {x}, {}, &gradients), kInvalid,
             "an upstream gradient for each, got 1 and 0");
  Check(gradients == before, "after an error the gradients are as they were");

  other.UpdateStatus(absl::AbortedError("went wrong before"));
  CheckError(tensorflow_ext::AddSymbolicGradients(other, {y}, {x}, &gradients),
             absl::StatusCode::kAborted, "went wrong before");
}

// A loop over (a, b) that negates both while a is negative.
OutputList Loop(const Scope& scope, const Output& a, const Output& b) {
  OutputList outputs;
  Check(ops::BuildWhileLoop(
      scope, {a, b},
      [](const Scope& s, const Outputs& inputs, Output* output) {
        *output = ops::Less(s, inputs[0], ops::Const(s, 0.0));
        return s.status();
      },
      [](const Scope& s, const Outputs& inputs, Outputs* results) {
        for (const Output& input : inputs) {
          results->push_back(ops::Neg(s, input));
        }
        return s.status();
      },
      "loop", &outputs));
  return outputs;
}

void Loops() {
  const Scope scope = Scope::NewRootScope();
  const Output x = Placeholder(scope, "x");
  const Output a = ops::Identity(scope, x);
  const OutputList both = Loop(scope, a, a);
  Outputs gradients = Gradients(scope, both, {x});
  CheckNear(Run(scope, gradients[0], -2), -2, "one iteration negates both");
  CheckNear(Run(scope, gradients[0], 2), 2, "none negates neither");

  const Scope partial = Scope::NewRootScope();
  const Output p = Placeholder(partial, "x");
  const OutputList outputs = Loop(partial, ops::Const(partial, 0.0), p);
  CheckError(tensorflow_ext::AddSymbolicGradients(partial, {outputs[1]}, {p}, &gradients),
             kUnimplemented, "BuildWhileLoop in C++");

  // An imported graph has nothing that marks the loop.
  tensorflow::GraphDef graph_def;
  Check(partial.ToGraphDef(&graph_def));
  const Scope imported = Scope::NewRootScope();
  Check(ImportGraphDef({}, graph_def, imported.graph(), nullptr));
  Output start, end;
  for (tensorflow::Node* node : imported.graph()->op_nodes()) {
    if (node->name() == "x") start = Output(node, 0);
    if (node->name() == outputs[1].node()->name()) end = Output(node, 0);
  }
  CheckError(tensorflow_ext::AddSymbolicGradients(imported, {end}, {start}, &gradients),
             kUnimplemented, "belongs to a TensorFlow 1 loop");
}

// ----- InlineCalls. -----

// A call of a function of x by the op `op`.
Output Call(const Scope& scope, const char* op, const char* name, const Output& x) {
  tensorflow::NameAttrList function;
  function.set_name(name);
  tensorflow::Node* node = nullptr;
  Check(tensorflow::NodeBuilder(scope.GetUniqueNameForOp("call"), op)
            .Input(std::vector<tensorflow::NodeBuilder::NodeOut>{{x.node(), x.index()}})
            .Attr("Tout", tensorflow::DataTypeVector{DT_DOUBLE})
            .Attr("f", function)
            .Finalize(scope.graph(), &node));
  Check(scope.DoShapeInference(node));
  return Output(node, 0);
}

// sin(x) x
double Wave(double x) { return std::sin(x) * x; }
double WaveSlope(double x) { return std::cos(x) * x + std::sin(x); }

// A scope whose graph has a function y of x.
Scope WithFunction(const char* name, const std::vector<FDH::Node>& nodes, const std::string& y) {
  const Scope scope = Scope::NewRootScope();
  tensorflow::FunctionDefLibrary library;
  *library.add_function() = FDH::Create(name, {"x: double"}, {"y: double"}, {}, nodes, {{"y", y}});
  Check(scope.graph()->AddFunctionLibrary(library));
  return scope;
}

void InlinedCalls() {
  const Scope scope = WithFunction("Wave",
                                   {{{"sine"}, "Sin", {"x"}, {{"T", DT_DOUBLE}}},
                                    {{"product"}, "Mul", {"sine:y", "x"}, {{"T", DT_DOUBLE}}}},
                                   "product:z");
  const Output x = Placeholder(scope, "x");
  const Output wave = Call(scope, "PartitionedCall", "Wave", x);
  const Output y = ops::Neg(scope, Call(scope, "PartitionedCall", "Wave", wave));

  Outputs inlined;
  Check(tensorflow_ext::InlineCalls(scope, {y, x}, &inlined));
  Check(inlined.size() == 2, "as many tensors as were asked for");
  Check(inlined[1].node() == x.node(), "what no call leads to stays");
  Check(inlined[0].node() != y.node(), "the result of a call is another one");

  Outputs gradients;
  Check(tensorflow::AddSymbolicGradients(scope, {inlined[0]}, {x}, &gradients));
  for (const tensorflow::Node* node : scope.graph()->op_nodes()) {
    Check(node->type_string() != "PartitionedCall" || node->name().rfind("call", 0) == 0,
          "a call was added: " + node->name());
  }
  const double at = 0.8;
  CheckNear(Run(scope, inlined[0], at), -Wave(Wave(at)), "y");
  CheckNear(Run(scope, gradients[0], at), -WaveSlope(Wave(at)) * WaveSlope(at), "dy/dx");

  Outputs untouched = {y};
  CheckError(tensorflow_ext::InlineCalls(scope, {Output(x.node(), 3)}, &untouched), kInvalid, "");
  CheckError(tensorflow_ext::InlineCalls(scope, {Output()}, &untouched), kInvalid,
             "never assigned");
  Check(untouched == Outputs{y}, "nothing is given back after an error");
}

// The gradient of x r belongs to the r of the same run.
void Draws() {
  const Scope scope = WithFunction(
      "Noisy",
      {{{"shape"}, "Shape", {"x"}, {{"T", DT_DOUBLE}}},
       {{"r"}, "RandomUniform", {"shape:output"}, {{"T", DT_INT32}, {"dtype", DT_DOUBLE}}},
       {{"product"}, "Mul", {"x", "r:output"}, {{"T", DT_DOUBLE}}}},
      "product:z");
  const Output x = Placeholder(scope, "x");
  const Output y = Call(scope, "StatefulPartitionedCall", "Noisy", x);
  const std::vector<double> values = Run(scope, Outputs{y, Gradients(scope, {y}, {x})[0]}, 3);
  CheckNear(values[0], 3 * values[1], "y");
}

// ----- Gradients that a model brings. (tests/models has models that bring some.) -----

void ModelsWithoutGradients() {
  const Scope scope = Scope::NewRootScope();
  ops::Neg(scope, Placeholder(scope, "x"));
  tensorflow::MetaGraphDef meta_graph;
  CheckError(tensorflow_ext::UseModelGradients(scope, meta_graph), kInvalid, "meta_graph_def");
  Check(scope.ToGraphDef(meta_graph.mutable_graph_def()));
  Check(tensorflow_ext::UseModelGradients(scope, meta_graph));
  Check(scope.graph()->flib_def().num_functions() == 0, "there is nothing to add");
}

// ----- Typed ops. -----

void OutputsAndAttributes() {
  const Scope scope = Scope::NewRootScope();
  const Output x = Placeholder(scope, "x");
  // A constant is an input too; there are two attributes; shows what `operator Input` is for.
  const ext::Hardshrink shrunk(scope, ext::Mish(scope, {{-0.3, 0.05}}),
                               ext::Hardshrink::Lower(-0.125f).Upper(0.0625f));
  const ext::ClipByGlobalNorm clipped(scope, OutputList{shrunk, x}, 1.0);
  Check(scope.status());
  Check(clipped.clipped.size() == 2 && clipped.clipped[1].index() == 1 && clipped.norm.index() == 2,
        "a list of outputs, and what comes behind it");
  Check(clipped.operation.num_outputs() == 3, "the operation");
  Check(shrunk.node()->type_string() == "TfExt>Hardshrink", "the node");
  const double mish = 0.05 * std::tanh(std::log1p(std::exp(0.05)));
  Check(mish < 0.0625, "it is within the bounds");
  const double left = -0.3 * std::tanh(std::log1p(std::exp(-0.3)));
  Check(left < -0.125, "it is not");
  CheckNear(Run(scope, clipped.norm, 2), std::hypot(left, 2), "the norm");

  const Scope inner = scope.NewSubScope("inner").WithDevice("/device:CPU:0");
  const tensorflow::Node* node =
      ext::Relu(inner.WithControlDependencies(x).WithOpName("named"), x).node();
  Check(inner.status());
  Check(node->name() == "inner/named" && node->requested_device() == "/device:CPU:0" &&
            node->in_edges().size() == 2,
        "name, device and control dependencies are the scope's");
}

using Build = std::function<Output(const Scope&, const Output& x)>;

// Builds something wrong in a scope of its own. The scope has the error, and ignores everything
// that comes afterwards.
void CheckRefused(const std::string& message, const Build& build) {
  const Scope scope = Scope::NewRootScope();
  const Output x = ops::Placeholder(scope.WithOpName("x"), DT_DOUBLE);
  const Output output = build(scope, x);
  CheckError(scope.status(), kInvalid, message);
  Check(output.node() == nullptr, "nothing is given back");
  const ext::RoiPool next(scope, output, output, 2, 2);
  Check(next.pooled.node() == nullptr && next.operation.node() == nullptr,
        "nothing is built in a scope that has an error");
  CheckError(scope.status(), kInvalid, message);
}

void WrongUse() {
  const Scope other = Scope::NewRootScope();
  const Output elsewhere = Placeholder(other, "elsewhere");
  CheckRefused("int32", [](const Scope& s, const Output&) { return ext::Relu(s, 7); });
  CheckRefused("TfExt>Relu: input 'features' is not a tensor",
               [](const Scope& s, const Output&) { return ext::Relu(s, Output()); });
  CheckRefused("'elsewhere' of another graph",
               [&](const Scope& s, const Output&) { return ext::Relu(s, elsewhere); });
  CheckRefused("is output 1 of node 'x', which has 1",
               [](const Scope& s, const Output& x) { return ext::Relu(s, Output(x.node(), 1)); });
  CheckRefused("DT_DOUBLE vs. DT_FLOAT",
               [](const Scope& s, const Output& x) { return ext::Snake(s, x, {1.0f, 2.0f}); });
  CheckRefused("input 'features'",
               [](const Scope& s, const Output&) { return ext::Relu(s, {{1.0, 2.0}, {3.0}}); });
  CheckRefused("pooled_height",
               [](const Scope& s, const Output& x) { return ext::RoiPool(s, x, x, 0, 2).pooled; });
  CheckRefused("combiner", [](const Scope& s, const Output& x) {
    return Output(ext::EmbeddingBag(s, ops::Placeholder(s, DT_INT32), x, x,
                                    ext::EmbeddingBag::Combiner("most")));
  });
  CheckRefused("N", [](const Scope& s, const Output&) {
    return ext::ClipByGlobalNorm(s, OutputList{}, 1.0).norm;
  });
  CheckRefused("input 'values' is node 'elsewhere' of another graph",
               [&](const Scope& s, const Output& x) {
                 const OutputList values = {x, elsewhere};
                 return ext::ClipByGlobalNorm(s, values, 1.0).norm;
               });
  // An input that the shape function refuses.
  CheckRefused("TfExt>RoiPool: argument 'data' has shape [], expected rank 4",
               [](const Scope& s, const Output&) {
                 const Output scalar = Placeholder(s, "scalar");
                 return ext::RoiPool(s, scalar, scalar, 2, 2).pooled;
               });
}

}  // namespace

int main() {
  for (void (*test)() :
       {OneOutputDependsOnAnother, UnconnectedInputs, TheSameInputTwice, WrongTensors, Loops,
        InlinedCalls, Draws, ModelsWithoutGradients, OutputsAndAttributes, WrongUse}) {
    test();
  }
  std::puts("fine");
  return 0;
}
