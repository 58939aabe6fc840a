// Parts of rewrites of a client's graph, which copy nodes and give a GraphDef to add to the graph.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// `name`, or `name` with a number, so that no node of the graph has a name in this scope.
std::string FreshPrefix(const tensorflow::Graph& graph, const std::string& name);

// The node under the name `name`. `source` names the tensor of a data edge, "node:index", or the
// node of a control edge. Colocation, which names nodes, is dropped: resources and their ops are
// placed together anyway.
tensorflow::NodeDef DefinitionWith(
    const tensorflow::Node& node, const std::string& name,
    const std::function<std::string(const tensorflow::Edge&)>& source);

// Reads a serialized GraphDef, its library included, into an empty graph, and finds the tensors
// "node:index" in it. Errors: kInvalidArgument, the bytes are not a GraphDef, its graph is invalid,
// or it has no such tensor; names `argument`, which listed it.
absl::StatusOr<std::vector<tensorflow::OutputTensor>> ReadGraph(
    const void* graph_def, size_t length, const char* argument,
    const std::vector<std::string>& tensors, tensorflow::Graph* graph);

}  // namespace tensorflow_ext
