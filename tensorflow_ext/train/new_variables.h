#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext::train {

struct NewVariable {
  std::string name;
  tensorflow::DataType type;
  tensorflow::TensorShape shape;
  // See InitialValue.
  std::string initializer;
};

// Variables to add to a graph.
struct NewVariables {
  // Nodes to add; see TrainingStep.
  tensorflow::GraphDef nodes;
  // The handles, "node:0", and the node that gives all variables their initial values.
  std::vector<std::string> handles;
  std::string initialize;
};

// Errors: kInvalidArgument, a name is taken, or an initializer is wrong.
absl::StatusOr<NewVariables> MakeVariables(const tensorflow::Graph& graph,
                                           const std::vector<NewVariable>& variables);

// The same for a graph that is a serialized GraphDef.
absl::StatusOr<NewVariables> MakeVariables(const void* graph_def, size_t length,
                                           const std::vector<NewVariable>& variables);

}  // namespace tensorflow_ext::train
