#pragma once

#include <string>

#include "absl/status/status.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// The function that a node calls with all its inputs: a PartitionedCall, a StatefulPartitionedCall,
// or a node whose op is the function. Other nodes give an empty name.
tensorflow::NameAttrList CalledFunction(const tensorflow::Node& node);

// True if InlineCalls replaces the node by a body: it is such a call, XLA does not compile it
// (there are ops with these attributes that only XLA computes), and `library` names no gradient
// (GradientDef) for the function.
bool IsInlinedCall(const tensorflow::FunctionLibraryDefinition& library,
                   const tensorflow::Node& node);

// Replaces each call of `graph`, the body of `function` (or of none, ""), by the body of the called
// function, including calls in those bodies. The gradient then needs no call of a gradient, and
// parts that two gradients share are computed once. Errors: kNotFound, a function is not in the
// library; kUnimplemented, one calls itself; those of tensorflow::InlineFunctionBody.
absl::Status InlineCalls(const tensorflow::FunctionLibraryDefinition& library,
                         const std::string& function, tensorflow::Graph* graph);

}  // namespace tensorflow_ext
