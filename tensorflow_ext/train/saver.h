#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext::train {

// Nodes that write and read a checkpoint.
struct Saver {
  // Nodes to add to the graph; see TrainingStep.
  tensorflow::GraphDef nodes;
  // The placeholder of the prefix of a checkpoint's files, a string. A node that writes them, and
  // one that sets the variables to what they hold.
  std::string prefix, save, restore;
};

// `variables`: handles. `names`: their names in the checkpoint; empty for those of the variables.
absl::StatusOr<Saver> MakeSaver(const tensorflow::Graph& graph,
                                const std::vector<tensorflow::OutputTensor>& variables,
                                std::vector<std::string> names);

// The same for a graph that is a serialized GraphDef, and handles "node:0".
absl::StatusOr<Saver> MakeSaver(const void* graph_def, size_t length,
                                const std::vector<std::string>& variables,
                                std::vector<std::string> names);

}  // namespace tensorflow_ext::train
