#pragma once

#include "absl/status/status.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tensorflow_ext {

// Checks a definition as its author wrote it, before TensorFlow instantiates it with the attributes
// of `forward`: its ops are registered, its placeholders are attributes of the op, and inputs of
// nodes have the right types. Covers only mistakes that TensorFlow's own messages explain badly.
// The error, kFailedPrecondition, names the node.
absl::Status CheckNodes(const tensorflow::NodeDef& forward,
                        const tensorflow::FunctionDef& function);

}  // namespace tensorflow_ext
