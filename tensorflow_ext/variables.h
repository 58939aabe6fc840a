// Variables and checkpoints for C++ clients, which must link libtensorflow_ext.so:
//
//   namespace init = tensorflow_ext::initializers;
//   tensorflow_ext::Variables made;
//   TF_RETURN_IF_ERROR(tensorflow_ext::NewVariables(
//       scope,
//       {{"dense/kernel", tensorflow::DT_FLOAT, {64, 32}, init::GlorotUniform{/*seed=*/1}},
//        {"dense/bias", tensorflow::DT_FLOAT, {32}, init::Zeros{}}},
//       &made));
//   // Run made.initialize once. ops::ReadVariableOp of made.handles[0] is the kernel.
//
//   tensorflow_ext::Saver saver;
//   TF_RETURN_IF_ERROR(tensorflow_ext::AddSaver(scope, made.Saved(), &saver));
//   TF_RETURN_IF_ERROR(saver.Save(session, "/tmp/model"));

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/public/session.h"
#include "tensorflow_ext/added_nodes.h"
#include "tensorflow_ext/optimizers.h"

namespace tensorflow_ext {

// A variable to add to a graph.
struct NewVariable {
  // Its name, and that of the node which is its handle.
  std::string name;
  tensorflow::DataType dtype;
  tensorflow::TensorShape shape;
  Initializer initializer;
};

// A variable for a checkpoint.
struct SavedVariable {
  tensorflow::Output handle;
  // Its name there: "dense/kernel" is the variable `kernel` of the object `dense` of a
  // tf.train.Checkpoint.
  std::string name;
};

// New variables in a graph.
struct Variables {
  std::vector<tensorflow::Output> handles;
  // Gives all of them their initial values.
  tensorflow::Operation initialize;

  // The variables by their own names.
  std::vector<SavedVariable> Saved() const {
    std::vector<SavedVariable> saved;
    for (const tensorflow::Output& handle : handles) {
      saved.push_back({handle, handle.node()->name()});
    }
    return saved;
  }
};

// Adds variables to the graph of `scope`. TfExt_NewVariable of train/train.h says more. Errors:
// kInvalidArgument, the graph has a node of that name, or an initializer is wrong. An error leaves
// `variables` unchanged.
inline absl::Status NewVariables(const tensorflow::Scope& scope,
                                 const std::vector<NewVariable>& specified, Variables* variables) {
  tensorflow::NodeDef op;
  op.set_op("TfExt>NewVariables");
  std::vector<std::string> names, initializers;
  tensorflow::DataTypeVector dtypes;
  std::vector<tensorflow::TensorShape> shapes;
  for (const NewVariable& variable : specified) {
    names.push_back(variable.name);
    dtypes.push_back(variable.dtype);
    shapes.push_back(variable.shape);
    initializers.push_back(variable.initializer.json());
  }
  tensorflow::AddNodeAttr("dtypes", dtypes, &op);
  tensorflow::AddNodeAttr("shapes", shapes, &op);
  tensorflow::AddNodeAttr("initializers", initializers, &op);
  std::vector<tensorflow::Output> added;
  TF_RETURN_IF_ERROR(added_nodes_internal::AddNodesOfOp(scope, op, {names}, 2, &added));
  variables->initialize = added.back().op();
  added.pop_back();
  variables->handles = added;
  return absl::OkStatus();
}

// Writes and reads the checkpoints of tf.train.Checkpoint.
struct Saver {
  // Fed with the beginning of the paths of a checkpoint's files.
  tensorflow::Output prefix;
  tensorflow::Operation save, restore;

  absl::Status Save(tensorflow::Session* session, const std::string& path) const {
    return Run(session, path, save);
  }
  // An error if the file lacks a variable, or has it in another shape.
  absl::Status Restore(tensorflow::Session* session, const std::string& path) const {
    return Run(session, path, restore);
  }

 private:
  absl::Status Run(tensorflow::Session* session, const std::string& path,
                   const tensorflow::Operation& operation) const {
    return session->Run({{prefix.name(), tensorflow::Tensor(path)}}, {}, {operation.node()->name()},
                        nullptr);
  }
};

// Adds nodes that write checkpoints of variables, such as those of Variables and TrainingStep, and
// read them. Errors: kInvalidArgument, a variable or a name is wrong. An error leaves `saver`
// unchanged.
inline absl::Status AddSaver(const tensorflow::Scope& scope,
                             const std::vector<SavedVariable>& variables, Saver* saver) {
  tensorflow::NodeDef op;
  op.set_op("TfExt>AddSaver");
  std::vector<tensorflow::Output> handles;
  std::vector<std::string> names;
  for (const SavedVariable& variable : variables) {
    handles.push_back(variable.handle);
    names.push_back(variable.name);
  }
  std::vector<tensorflow::Output> added;
  TF_ASSIGN_OR_RETURN(const auto tensors, added_nodes_internal::Names(scope, handles));
  TF_RETURN_IF_ERROR(added_nodes_internal::AddNodesOfOp(scope, op, {tensors, names}, 3, &added));
  *saver = {added[0], added[1].op(), added[2].op()};
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
