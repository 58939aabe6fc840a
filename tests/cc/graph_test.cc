// SPDX-License-Identifier: Apache-2.0
//
// Typed ops and AddSymbolicGradients of a C++ client, which links
// libtensorflow_ext.so: what they give, and what they say of wrong use. Prints
// what is wrong and ends with 1.

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
#include "tensorflow/core/public/session.h"
#include "tensorflow_ext/cc/gradients.h"
#include "tensorflow_ext/cc/ops.h"

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
using Outputs = std::vector<Output>;

void Check(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
  std::exit(1);
}

void Check(const absl::Status& status) {
  Check(status.ok(), status.ToString());
}

void CheckError(const absl::Status& status, absl::StatusCode code,
                const std::string& part) {
  Check(status.code() == code &&
            absl::StrContains(std::string(status.message()), part),
        "expected an error with '" + part + "', got " + status.ToString());
}

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

// The value of a double tensor that has one element, where x is `at`.
double Run(const Scope& scope, const Output& tensor, double at) {
  tensorflow::GraphDef graph_def;
  Check(scope.ToGraphDef(&graph_def));
  const std::unique_ptr<tensorflow::Session> session(
      tensorflow::NewSession(tensorflow::SessionOptions()));
  Check(session->Create(graph_def));
  std::vector<Tensor> fetched;
  Check(session->Run({{"x", Tensor(at)}}, {tensor.name()}, {}, &fetched));
  return fetched[0].flat<double>()(0);
}

void CheckNear(double found, double expected, const std::string& what) {
  Check(std::abs(found - expected) < 1e-12,
        what + " is " + std::to_string(found) + ", expected " +
            std::to_string(expected));
}

Output Placeholder(const Scope& scope, const std::string& name) {
  return ops::Placeholder(scope.WithOpName(name), DT_DOUBLE,
                          ops::Placeholder::Shape(tensorflow::TensorShape()));
}

// ----- Gradients. -----

void OneOutputOnTheWayToAnother() {
  const Scope scope = Scope::NewRootScope();
  const Output x = Placeholder(scope, "x");
  const Output y = ops::Tanh(scope, x);
  const Output z = ops::Multiply(scope, x, y);
  Outputs gradients;
  Check(tensorflow_ext::AddSymbolicGradients(scope, {y, z}, {x}, &gradients));
  const double at = 0.7, tanh = std::tanh(at), slope = 1 - tanh * tanh;
  CheckNear(Run(scope, gradients[0], at), slope + tanh + at * slope,
            "d(y + z)");

  const Output dy = ops::Const(scope, 3.0), dz = ops::Const(scope, -2.0);
  Check(tensorflow_ext::AddSymbolicGradients(scope, {y, z}, {x}, {dy, dz},
                                             &gradients));
  CheckNear(Run(scope, gradients[0], at), 3 * slope - 2 * (tanh + at * slope),
            "d(3 y - 2 z)");
  Check(tensorflow_ext::AddSymbolicGradients(
      scope, {y, z}, {x}, {tensorflow::NoGradient(), dz}, &gradients));
  CheckNear(Run(scope, gradients[0], at), -2 * (tanh + at * slope), "d(-2 z)");
}

void UnconnectedInputs() {
  const Scope scope = Scope::NewRootScope();
  const Output x = Placeholder(scope, "x"), w = Placeholder(scope, "w");
  const Output y = ext::Mish(scope, x);
  const Output behind = ops::Neg(scope, y);
  Outputs gradients;
  Check(tensorflow_ext::AddSymbolicGradients(scope, {y}, {w, x, behind, y},
                                             &gradients));
  Check(gradients.size() == 4, "a gradient for each input");
  for (const int i : {0, 2}) {
    Check(gradients[i] == tensorflow::NoGradient(), "there is no path");
  }
  // mish(x) = x tanh(softplus(x)); softplus(0) = log 2, tanh of it 3 / 5.
  CheckNear(Run(scope, gradients[1], 0), 0.6, "the slope of mish");
  CheckNear(Run(scope, gradients[3], 0), 1, "dy / dy");

  Check(tensorflow_ext::AddSymbolicGradients(scope, {y}, {w}, &gradients));
  Check(gradients == Outputs{tensorflow::NoGradient()}, "none is connected");
  Check(tensorflow_ext::AddSymbolicGradients(
      scope, {y}, {x}, {tensorflow::NoGradient()}, &gradients));
  Check(gradients == Outputs{tensorflow::NoGradient()}, "nothing is upstream");
}

void TheSameInputTwice() {
  const Scope scope = Scope::NewRootScope();
  const Output x = Placeholder(scope, "x"), w = ops::Const(scope, 5.0);
  const Output y = ops::Multiply(scope, w, ops::Square(scope, x));
  Outputs gradients;
  Check(
      tensorflow_ext::AddSymbolicGradients(scope, {y}, {x, w, x}, &gradients));
  CheckNear(Run(scope, gradients[0], 3), 30, "d(w x^2) / dx");
  CheckNear(Run(scope, gradients[1], 3), 9, "d(w x^2) / dw");
  CheckNear(Run(scope, gradients[2], 3), 30, "d(w x^2) / dx, once more");
}

void WrongTensors() {
  const Scope scope = Scope::NewRootScope(), other = Scope::NewRootScope();
  const Output x = Placeholder(scope, "x"), y = ops::Neg(scope, x);
  const std::vector<std::pair<Output, std::string>> wrong = {
      {Output(), "[0] is no tensor"},
      {Placeholder(other, "elsewhere"), "'elsewhere' of another graph"},
      {Output(x.node(), 7), "[0] is output 7 of node 'x' of op Placeholder"},
      {Output(x.node(), -2), "output -2"},
  };
  const Outputs before = {y};
  Outputs gradients = before;
  for (const auto& [tensor, message] : wrong) {
    for (const absl::Status& status : {
             tensorflow_ext::AddSymbolicGradients(scope, {tensor}, {x},
                                                  &gradients),
             tensorflow_ext::AddSymbolicGradients(scope, {y}, {tensor},
                                                  &gradients),
             tensorflow_ext::AddSymbolicGradients(scope, {y}, {x}, {tensor},
                                                  &gradients),
         }) {
      CheckError(status, kInvalid, message);
    }
  }
  CheckError(tensorflow_ext::AddSymbolicGradients(scope, {}, {x}, &gradients),
             kInvalid, "at least one output");
  CheckError(
      tensorflow_ext::AddSymbolicGradients(scope, {y}, {x}, {}, &gradients),
      kInvalid, "an upstream gradient for each, got 1 and 0");
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
  Outputs gradients;
  Check(tensorflow_ext::AddSymbolicGradients(scope, both, {x}, &gradients));
  CheckNear(Run(scope, gradients[0], -2), -2, "one iteration negates both");
  CheckNear(Run(scope, gradients[0], 2), 2, "none negates neither");

  const Scope partial = Scope::NewRootScope();
  const Output p = Placeholder(partial, "x");
  const OutputList outputs = Loop(partial, ops::Const(partial, 0.0), p);
  CheckError(tensorflow_ext::AddSymbolicGradients(partial, {outputs[1]}, {p},
                                                  &gradients),
             kUnimplemented, "a loop of TF_NewWhile");

  // As a graph that was imported has it: nothing says that it is a loop.
  tensorflow::GraphDef graph_def;
  Check(partial.ToGraphDef(&graph_def));
  const Scope imported = Scope::NewRootScope();
  Check(ImportGraphDef({}, graph_def, imported.graph(), nullptr));
  Output start, end;
  for (tensorflow::Node* node : imported.graph()->op_nodes()) {
    if (node->name() == "x") start = Output(node, 0);
    if (node->name() == outputs[1].node()->name()) end = Output(node, 0);
  }
  CheckError(tensorflow_ext::AddSymbolicGradients(imported, {end}, {start},
                                                  &gradients),
             kUnimplemented, "belongs to a loop of TensorFlow 1");
}

// ----- Typed ops. -----

void OutputsAndAttributes() {
  const Scope scope = Scope::NewRootScope();
  const Output x = Placeholder(scope, "x");
  // A constant is an input too; two attributes; what `operator Input` is for.
  const ext::Hardshrink shrunk(scope, ext::Mish(scope, {{-0.3, 0.05}}),
                               ext::Hardshrink::Lower(-0.125f).Upper(0.0625f));
  const ext::ClipByGlobalNorm clipped(scope, OutputList{shrunk, x}, 1.0);
  Check(scope.status());
  Check(clipped.clipped.size() == 2 && clipped.clipped[1].index() == 1 &&
            clipped.norm.index() == 2,
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
  Check(node->name() == "inner/named" &&
            node->requested_device() == "/device:CPU:0" &&
            node->in_edges().size() == 2,
        "name, device and control dependencies are the scope's");
}

// Builds something wrong in a scope of its own; the error is the scope's, and
// what comes afterwards is left out.
void CheckRefused(const std::function<Output(const Scope&)>& build,
                  const std::string& message) {
  const Scope scope = Scope::NewRootScope();
  const Output output = build(scope);
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
  CheckRefused([](const Scope& s) { return ext::Relu(s, 7); }, "int32");
  CheckRefused([](const Scope& s) { return ext::Relu(s, Output()); },
               "TfExt>Relu: input 'features' is no tensor");
  CheckRefused([&](const Scope& s) { return ext::Relu(s, elsewhere); },
               "'elsewhere' of another graph");
  CheckRefused(
      [](const Scope& s) {
        return ext::Relu(s, Output(Placeholder(s, "x").node(), 1));
      },
      "is output 1 of node 'x', which has 1");
  CheckRefused(
      [](const Scope& s) {
        return ext::Snake(s, Placeholder(s, "x"), {1.0f, 2.0f});
      },
      "DT_DOUBLE vs. DT_FLOAT");
  CheckRefused([](const Scope& s) { return ext::Relu(s, {{1.0, 2.0}, {3.0}}); },
               "input 'features'");
  CheckRefused(
      [](const Scope& s) {
        const Output x = ops::Placeholder(s, DT_DOUBLE);
        return ext::RoiPool(s, x, x, 0, 2).pooled;
      },
      "pooled_height");
  CheckRefused(
      [](const Scope& s) {
        const Output x = ops::Placeholder(s, DT_DOUBLE);
        return Output(ext::EmbeddingBag(s, ops::Placeholder(s, DT_INT32), x, x,
                                        ext::EmbeddingBag::Combiner("most")));
      },
      "combiner");
  CheckRefused(
      [](const Scope& s) {
        return ext::ClipByGlobalNorm(s, OutputList{}, 1.0).norm;
      },
      "N");
  CheckRefused(
      [&](const Scope& s) {
        const Output x = Placeholder(s, "x");
        return ext::ClipByGlobalNorm(s, OutputList{x, elsewhere}, 1.0).norm;
      },
      "input 'values' is node 'elsewhere' of another graph");
  // What the shape function refuses.
  CheckRefused(
      [](const Scope& s) {
        const Output x = Placeholder(s, "x");
        return ext::RoiPool(s, x, x, 2, 2).pooled;
      },
      "TfExt>RoiPool: argument 'data' has shape [], expected rank 4");
}

}  // namespace

int main() {
  OneOutputOnTheWayToAnother();
  UnconnectedInputs();
  TheSameInputTwice();
  WrongTensors();
  Loops();
  OutputsAndAttributes();
  WrongUse();
  std::puts("fine");
  return 0;
}
