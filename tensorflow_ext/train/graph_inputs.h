#pragma once

#include <string>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext::train {

// Lets `nodes` wait for tensors of the graph where they wait for its nodes, because clients that
// import nodes can often map only tensors. A node without outputs is waited for as before.
// Returns the tensors of the graph that `nodes` read.
std::vector<std::string> ReadTensorsOnly(const tensorflow::Graph& graph,
                                         tensorflow::GraphDef* nodes);

}  // namespace tensorflow_ext::train
