#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tensorflow_ext {

// The graph with all of these tags, in any order, of the SavedModel in a folder. kNotFound: the
// folder has no model, or the model has no such graph.
absl::StatusOr<tensorflow::MetaGraphDef> ReadMetaGraph(const std::string& folder,
                                                       const std::vector<std::string>& tags);

// A buffer that holds a MetaGraphDef with a graph.
absl::StatusOr<tensorflow::MetaGraphDef> ParseMetaGraph(const TF_Buffer* meta_graph_def);

// The number of inputs of a node without its control inputs.
int NumDataInputs(const tensorflow::NodeDef& node);

}  // namespace tensorflow_ext
