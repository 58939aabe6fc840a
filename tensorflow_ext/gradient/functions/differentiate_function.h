// The gradient of an op that calls functions of the graph's library (If, Case, While). No
// FunctionDef can be written for it beforehand, so it is made from the functions that the node
// names.
//
// The gradient of a function f(x...) -> y... is a function f_gradient(x..., dy...) -> dx... of the
// same library. Its body is that of f with the gradients that AddSymbolicGradients adds, so nested
// branches and higher-order gradients need no special case. Calls in the body are inlined first
// (inline_calls.h). If the library names a gradient for f (a GradientDef, as TF_GraphCopyFunction
// adds one), the body calls it.
//
// The gradient computes f again from the same arguments. Unneeded parts are left out. Tensors that
// may have another value in another run (rerun.h), such as random draws, are kept: the gradient
// takes them as arguments, and the node that calls f calls a function that also returns them
// (more_outputs.h). Every result waits until the variables have been read again, so an update that
// takes a result runs after the reads.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/types.h"

namespace tensorflow_ext {

// The gradient of a function.
struct FunctionWithGradients {
  // Made from everything that it depends on: the same function has the same gradient in every
  // graph, and different ones never share a name.
  std::string name;
  // The gradient and the functions that it calls.
  tensorflow::FunctionDefLibrary library;
  // The type of the gradient of each argument of the differentiated function, DT_INVALID if it has
  // none. The results are the existing gradients, in this order.
  tensorflow::DataTypeVector gradients;

  // OK if nothing is kept. Otherwise the reason why the gradient takes results of the function, or
  // why the node must call `forward` in place of the function.
  absl::Status runs_again;
  // The name of a function in `library`; empty if the differentiated one will do. It returns the
  // results of the differentiated one and further ones, of these types.
  std::string forward;
  tensorflow::DataTypeVector forward_types;
  // The results of `forward` that the gradient takes, after the upstream gradients.
  std::vector<int> kept;
};

// For a node that cannot return more: kUnimplemented if `gradient` keeps anything.
absl::Status CheckNothingKept(const FunctionWithGradients& gradient);

// Differentiates `function`; `library` contains it and everything it calls.
//
// `upstream`: the type of each result's upstream gradient, DT_INVALID if it has none (UpstreamTypes
// of upstream.h). The gradient function takes the arguments of `function` and then the existing
// upstream gradients.
//
// `required`: empty, or for each argument the type of a gradient that is always returned, with
// zeros if there is none; DT_INVALID requires nothing.
//
// Errors: kNotFound, a function or a gradient of an op is missing; kUnimplemented, the function
// contains itself, reads a variable in a branch or loop and then writes to it, or a gradient has
// another type than `required`; otherwise the errors of its gradients. Made once and then kept.
// Thread-safe.
absl::StatusOr<std::shared_ptr<const FunctionWithGradients>> DifferentiateFunction(
    const tensorflow::FunctionLibraryDefinition& library, const tensorflow::NameAttrList& function,
    const tensorflow::DataTypeVector& upstream, const tensorflow::DataTypeVector& required = {});

}  // namespace tensorflow_ext
