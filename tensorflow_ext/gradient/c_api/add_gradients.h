#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// The tensor in the form of the C API.
TF_Output ToTfOutput(const tensorflow::OutputTensor& tensor);

// TfExt_AddGradients of c_api.h for outputs of nodes of `graph`. `upstream`: none, or one for each
// of `ys`. `zeros`: true to give zeros for an x that is not connected. Returns a gradient for each
// of `xs`; its node is null if there is none.
absl::StatusOr<std::vector<tensorflow::OutputTensor>> AddGradients(
    TF_Graph* graph, const char* prefix, const std::vector<tensorflow::OutputTensor>& ys,
    const std::vector<tensorflow::OutputTensor>& xs,
    const std::vector<tensorflow::OutputTensor>& upstream, bool zeros);

}  // namespace tensorflow_ext
