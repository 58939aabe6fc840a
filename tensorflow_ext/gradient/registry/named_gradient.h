// In Python, a node may name a gradient that replaces the one of its op: tf.custom_gradient and
// gradient_override_map write the attribute `_gradient_op_type`. A client that used the op's own
// gradient would be silently wrong.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensorflow_ext {

// The attribute that names a gradient.
inline constexpr char kGradientOpType[] = "_gradient_op_type";

// An attribute that says why a handed-over model lacks this gradient and what to do.
inline constexpr char kNamedGradientProblem[] = "_tfext_gradient_problem";

// The gradient that a node with these attributes names; empty if it names none. TensorFlow gives
// calls of functions the name of the gradient that it would build for the function
// ("PartitionedCall-7"); this is the function's own gradient and does not count.
std::string NamedGradient(const tensorflow::AttrSlice& attrs);

// kFailedPrecondition if a node with these attributes names a gradient, unless
// AllowsMissingGradients(). `node` describes it: "node 'x'".
absl::Status CheckNamesNoGradient(absl::string_view node, const tensorflow::AttrSlice& attrs);

// TfExt_AllowMissingGradients of c_api.h.
bool AllowsMissingGradients();
int AllowMissingGradients(int allow);

}  // namespace tensorflow_ext
