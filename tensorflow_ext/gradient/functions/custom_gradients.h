// Gradients that a model brings: tf.custom_gradient in Python.
//
// Python wraps the results and the inputs of such a function in an IdentityN whose attribute
// `_gradient_op_type` names a gradient ("CustomGradient-9"). A SavedModel has a function for that
// gradient. Its arguments are one upstream gradient for each output of the IdentityN and then the
// tensors that the Python function captured. The graph of a loaded model has lost which function
// belongs to which name and what was captured; the MetaGraphDef has both.
//
// saved_model/model_gradients.h writes this into the graph's function library: for each function
// with such nodes a second one, its record. The record is never called. A function that is
// differentiated or inlined looks for its record, and each of its nodes then becomes an IdentityN
// that has the captured tensors as further inputs and names the gradient function
// (BodyWithGradients). So nothing outside the graph is needed any more, and the node survives
// export, import and inlining.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/common_runtime/function_body.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow_ext/gradient/graph/leading_to.h"

namespace tensorflow_ext {

// The gradient of one node of a function.
struct CustomGradient {
  // The node, and the function of its gradient.
  std::string node;
  std::string function;
  // The captured tensors, "node:index" in the function of the node or among the record's sources.
  std::vector<std::string> captures;
  // For each result of `function`, the index of the input of the node that it belongs to.
  std::vector<int> results;
  // Why the model has no gradient for the node and what to do; empty if it has one.
  std::string problem;
};

// The record of the function `name`. `sources`: nodes without inputs that make tensors which the
// gradients captured and which the function does not have.
tensorflow::FunctionDef MakeRecord(const std::string& name,
                                   const std::vector<CustomGradient>& gradients,
                                   const std::vector<tensorflow::NodeDef>& sources);

// Copies from `library` the records of the functions of `reachable`, and everything that the
// gradients in these records need.
absl::Status CopyRecords(const tensorflow::FunctionLibraryDefinition& library,
                         tensorflow::FunctionLibraryDefinition* reachable);

// The body of `function`, whose definition in `library` is `definition`. If `library` has a record
// of the function, its gradients are attached to the body's nodes.
absl::StatusOr<std::unique_ptr<tensorflow::FunctionBody>> BodyWithGradients(
    const tensorflow::FunctionLibraryDefinition& library, const tensorflow::FunctionDef& definition,
    const tensorflow::NameAttrList& function);

// kFailedPrecondition if the node names a gradient that is not attached, unless
// AllowsMissingGradients().
absl::Status CheckNamedGradient(const tensorflow::Node& node);

// The same for the nodes of `between` (Between of leading_to.h) whose gradients are needed.
absl::Status CheckNamedGradients(const NodeSet& between);

// True if BodyWithGradients attached a gradient to the node.
bool HasAttachedGradient(const tensorflow::Node& node);

// Calls the attached gradient of `op`. A missing upstream gradient has no node.
absl::Status AddAttachedGradient(const tensorflow::Scope& scope, const tensorflow::Operation& op,
                                 const std::vector<tensorflow::Output>& upstream,
                                 std::vector<tensorflow::Output>* gradients);

}  // namespace tensorflow_ext
