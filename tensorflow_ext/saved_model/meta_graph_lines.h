// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_SAVED_MODEL_META_GRAPH_LINES_H_
#define TENSORFLOW_EXT_SAVED_MODEL_META_GRAPH_LINES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tensorflow_ext {

// What a client has to know of a graph of a SavedModel; describe_meta_graph.h
// says what the lines are.
// Errors: kInvalidArgument, a signature names a node that the graph has not, or
// a name holds a tab or a line end.
absl::StatusOr<std::vector<std::string>> MetaGraphLines(
    const tensorflow::MetaGraphDef& meta_graph);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_SAVED_MODEL_META_GRAPH_LINES_H_
