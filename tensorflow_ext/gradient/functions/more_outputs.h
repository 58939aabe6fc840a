// Lets a node that calls functions return more, without a second node: TensorFlow's Python does the
// same for If and While. No other node sees a difference.

#pragma once

#include <vector>

#include "absl/status/status.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// Checks that no session of the C interface has `node`, a node of the scope's graph: a session does
// not see how a node that it has changes. Sessions of C++ clients are not known. Error:
// kFailedPrecondition, with `why` the node must change and what to do.
absl::Status CheckMayChange(const tensorflow::Scope& scope, const tensorflow::Node& node,
                            const absl::Status& why);

// Adds outputs of these types, of unknown shape. `types`: the attribute that lists the types of the
// node's outputs.
absl::Status AddOutputs(const tensorflow::Scope& scope, const char* types,
                        const tensorflow::DataTypeVector& more, tensorflow::Node* node);

// Adds variables with these types and initial values to a loop; each is an input and an output.
absl::Status AddLoopVariables(const tensorflow::Scope& scope,
                              const tensorflow::DataTypeVector& types,
                              const std::vector<tensorflow::Output>& values,
                              tensorflow::Node* loop);

}  // namespace tensorflow_ext
