// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_GRADIENT_FUNCTIONS_INLINE_CALLS_H_
#define TENSORFLOW_EXT_GRADIENT_FUNCTIONS_INLINE_CALLS_H_

#include <string>

#include "absl/status/status.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// Puts the body of the called function in place of each PartitionedCall and
// StatefulPartitionedCall of `graph`, the body of `function`, and of those that
// come in with it. TensorFlow's own gradient of the two has no gradient itself,
// and knows only the gradients of the function registry. Calls of functions
// for which `library` names a gradient (GradientDef) stay: TensorFlow's
// gradient calls that.
// Errors: kNotFound, a function is not in the library; kUnimplemented, one
// calls itself; those of tensorflow::InlineFunctionBody.
absl::Status InlineCalls(const tensorflow::FunctionLibraryDefinition& library,
                         const std::string& function, tensorflow::Graph* graph);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_INLINE_CALLS_H_
