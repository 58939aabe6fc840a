#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext::train {

// A variable of a graph.
struct Variable {
  const tensorflow::Node* handle;
  tensorflow::DataType type;
  tensorflow::TensorShape shape;
  // Its name in a session: the shared name, or that of the node.
  std::string name;
};

// Errors: kInvalidArgument, the tensor is no handle (VarHandleOp), or the shape is unknown.
absl::StatusOr<Variable> ReadVariable(const tensorflow::OutputTensor& handle);

}  // namespace tensorflow_ext::train
