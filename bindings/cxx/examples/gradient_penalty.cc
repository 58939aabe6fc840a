// Trains a network whose loss contains a gradient: the norm of the output's gradient by the input
// must be near 1. Training takes the gradient of that gradient. Prints the loss of each step.
// examples/training/reference.py is the same in Python.

#include <cstdio>
#include <memory>

#include "tensorflow/cc/ops/resource_variable_ops.h"
#include "tensorflow/cc/ops/standard_ops.h"
#include "tensorflow/core/public/session.h"
#include "tensorflow_ext/minimize.h"

namespace ext = tensorflow_ext;
namespace init = tensorflow_ext::initializers;
namespace ops = tensorflow::ops;
using tensorflow::DT_FLOAT;
using tensorflow::Output;

static absl::Status Run() {
  const tensorflow::Scope scope = tensorflow::Scope::NewRootScope();
  ext::Variables variables;
  TF_RETURN_IF_ERROR(
      ext::NewVariables(scope,
                        {{"hidden/kernel", DT_FLOAT, {4, 16}, init::GlorotUniform{/*seed=*/1}},
                         {"hidden/bias", DT_FLOAT, {16}, init::Zeros{}},
                         {"output/kernel", DT_FLOAT, {16, 1}, init::GlorotUniform{/*seed=*/2}},
                         {"output/bias", DT_FLOAT, {1}, init::Zeros{}}},
                        &variables));
  std::vector<Output> values;
  for (const Output& handle : variables.handles) {
    values.push_back(ops::ReadVariableOp(scope, handle, DT_FLOAT));
  }
  const Output seed = ops::Placeholder(scope, tensorflow::DT_INT64);
  // TensorFlow has no C++ class for this op.
  tensorflow::Node* draw = nullptr;
  TF_RETURN_IF_ERROR(tensorflow::NodeBuilder("draw", "StatelessRandomNormal")
                         .Input(ops::Const(scope, {64, 4}).node())
                         .Input(seed.node())
                         .Finalize(scope.graph(), &draw));
  TF_RETURN_IF_ERROR(scope.DoShapeInference(draw));
  const Output x(draw);
  const Output target = ops::Sin(scope, ops::Sum(scope, x, 1, ops::Sum::KeepDims(true)));
  const Output hidden =
      ops::Tanh(scope, ops::BiasAdd(scope, ops::MatMul(scope, x, values[0]), values[1]));
  const Output y = ops::BiasAdd(scope, ops::MatMul(scope, hidden, values[2]), values[3]);
  std::vector<Output> dx;
  TF_RETURN_IF_ERROR(ext::AddSymbolicGradients(scope, {y}, {x}, &dx));
  const Output norm = ops::Sqrt(scope, ops::Sum(scope, ops::Square(scope, dx[0]), 1));
  const Output penalty = ops::Mean(scope, ops::SquaredDifference(scope, norm, 1.f), 0);
  const Output error = ops::Mean(scope, ops::SquaredDifference(scope, y, target), {0, 1});
  const Output loss = ops::Add(scope, error, ops::Mul(scope, 0.1f, penalty));
  ext::SGD sgd;
  sgd.learning_rate = 0.05;
  sgd.momentum = 0.9;
  ext::TrainingStep training;
  TF_RETURN_IF_ERROR(ext::Minimize(scope, loss, variables.handles, sgd, &training));
  tensorflow::GraphDef graph;
  TF_RETURN_IF_ERROR(scope.ToGraphDef(&graph));
  const std::unique_ptr<tensorflow::Session> session(tensorflow::NewSession({}));
  TF_RETURN_IF_ERROR(session->Create(graph));
  TF_RETURN_IF_ERROR(session->Run(
      {}, {}, {variables.initialize.node()->name(), training.initialize.node()->name()}, nullptr));
  for (int64_t step = 0; step < 100; ++step) {
    const tensorflow::Input::Initializer drawn_from({step, int64_t{7}});
    std::vector<tensorflow::Tensor> fetched;
    TF_RETURN_IF_ERROR(session->Run({{seed.name(), drawn_from.tensor}}, {loss.name()},
                                    {training.step.node()->name()}, &fetched));
    std::printf("%.9g\n", fetched[0].scalar<float>()());
  }
  return absl::OkStatus();
}

int main() {
  const absl::Status status = Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
