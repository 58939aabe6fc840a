// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_GRADIENT_FUNCTIONS_INLINE_CALLS_H_
#define TENSORFLOW_EXT_GRADIENT_FUNCTIONS_INLINE_CALLS_H_

#include <string>

#include "absl/status/status.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// The function that a node calls with all its inputs: a PartitionedCall, a
// StatefulPartitionedCall, or a node whose op is the function. No name for
// other nodes.
tensorflow::NameAttrList CalledFunction(const tensorflow::Node& node);

// Whether InlineCalls puts a body in place of the node: it is such a call, not
// one that XLA is to compile, since there are ops that XLA alone computes with
// these attributes, and `library` names no gradient (GradientDef) for the
// function.
bool IsInlinedCall(const tensorflow::FunctionLibraryDefinition& library,
                   const tensorflow::Node& node);

// Puts the body of the called function in place of each call of `graph`, the
// body of `function` (or of none, ""), and of those that come in with it. So
// the gradient needs no call of a gradient, and what two gradients in it have
// in common is computed once.
// Errors: kNotFound, a function is not in the library; kUnimplemented, one
// calls itself; those of tensorflow::InlineFunctionBody.
absl::Status InlineCalls(const tensorflow::FunctionLibraryDefinition& library,
                         const std::string& function, tensorflow::Graph* graph);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_INLINE_CALLS_H_
