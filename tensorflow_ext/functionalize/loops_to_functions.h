#pragma once

#include "absl/status/status.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tensorflow_ext {

// True if the graph or a function of its library has a loop of TensorFlow 1.
bool HasLoops(const tensorflow::GraphDef& graph);

// Turns the loops of TensorFlow 1 of a graph and of its functions into While ops, and the branches
// in them into If ops. functionalize_graph_def.h says what stays.
absl::Status LoopsToFunctions(tensorflow::GraphDef* graph);

}  // namespace tensorflow_ext
