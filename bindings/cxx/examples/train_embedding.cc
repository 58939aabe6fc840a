// Trains an embedding table and a head lazily: a step changes only the rows that it gathers.
//
//   train_embedding PREFIX
//
// Prints the losses and writes a checkpoint. examples/training/reference.py is the same in Python.

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

static absl::Status Run(const char* prefix) {
  const tensorflow::Scope scope = tensorflow::Scope::NewRootScope();
  ext::Variables variables;
  TF_RETURN_IF_ERROR(ext::NewVariables(
      scope,
      {{"embedding/table", DT_FLOAT, {1000, 8}, init::RandomUniform{-0.05, 0.05, /*seed=*/1}},
       {"head/kernel", DT_FLOAT, {8, 3}, init::GlorotUniform{/*seed=*/2}},
       {"head/bias", DT_FLOAT, {3}, init::Zeros{}}},
      &variables));
  const Output kernel = ops::ReadVariableOp(scope, variables.handles[1], DT_FLOAT);
  const Output bias = ops::ReadVariableOp(scope, variables.handles[2], DT_FLOAT);
  const Output seed = ops::Placeholder(scope, tensorflow::DT_INT64);
  // TensorFlow has no C++ class for this op.
  tensorflow::Node* draw = nullptr;
  TF_RETURN_IF_ERROR(tensorflow::NodeBuilder("draw", "StatelessRandomUniformInt")
                         .Input(ops::Const(scope, {64}).node())
                         .Input(seed.node())
                         .Input(ops::Const(scope, 0).node())
                         .Input(ops::Const(scope, 1000).node())
                         .Finalize(scope.graph(), &draw));
  TF_RETURN_IF_ERROR(scope.DoShapeInference(draw));
  const Output ids(draw), rows = ops::ResourceGather(scope, variables.handles[0], ids, DT_FLOAT);
  const Output logits = ops::BiasAdd(scope, ops::MatMul(scope, rows, kernel), bias);
  const ops::SparseSoftmaxCrossEntropyWithLogits losses(scope, logits,
                                                        ops::FloorMod(scope, ids, 3));
  const Output loss = ops::Mean(scope, losses.loss, 0);
  ext::Adam adam;
  adam.learning_rate = 0.02;
  adam.lazy = true;
  ext::TrainingStep training;
  TF_RETURN_IF_ERROR(ext::Minimize(scope, loss, variables.handles, adam, &training));
  std::vector<ext::SavedVariable> saved = variables.Saved();
  for (const ext::SavedVariable& slot : training.Saved("optimizer")) saved.push_back(slot);
  ext::Saver saver;
  TF_RETURN_IF_ERROR(ext::AddSaver(scope, saved, &saver));

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
  return saver.Save(session.get(), prefix);
}

int main(int argc, char** argv) {
  const absl::Status status =
      argc == 2 ? Run(argv[1]) : absl::InvalidArgumentError("usage: train_embedding PREFIX");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
