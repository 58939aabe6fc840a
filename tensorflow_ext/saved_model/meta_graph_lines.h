#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tensorflow_ext {

// Describes a graph of a SavedModel; describe_meta_graph.h defines the lines. Errors:
// kInvalidArgument, a signature names a node that is not in the graph, or a name contains a tab or
// a line end.
absl::StatusOr<std::vector<std::string>> MetaGraphLines(const tensorflow::MetaGraphDef& meta_graph);

}  // namespace tensorflow_ext
