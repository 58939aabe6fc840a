// SPDX-License-Identifier: Apache-2.0
//
// The gradient of an op that calls functions of the graph's library (If, Case,
// While). No FunctionDef can be written for it beforehand; it is made of the
// functions that the node names.
//
// The gradient of a function f(x...) -> y... is a function
// f_gradient(x..., dy...) -> dx... of the same library. Its body is that of f
// with the gradients that AddSymbolicGradients adds to it, so branches within
// branches, and the gradient of a gradient, need nothing of their own. Calls in
// the body are inlined first (inline_calls.h). Where the library names a
// gradient for f (a GradientDef, as TF_GraphCopyFunction adds one), the body is
// a call of that.
//
// It computes f again from the same arguments, as no client gradient may change
// the forward op so that it returns more; what the gradient does not need is
// left out. A function that may give another value in another run is refused
// (rerun.h). Every result waits until the variables have been read again, so an
// update that takes one of the results comes after that.

#ifndef TENSORFLOW_EXT_GRADIENT_FUNCTIONS_DIFFERENTIATE_FUNCTION_H_
#define TENSORFLOW_EXT_GRADIENT_FUNCTIONS_DIFFERENTIATE_FUNCTION_H_

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
  // Its name. Made of all that it depends on: the same function has the same
  // gradient in every graph, and different ones never share a name.
  std::string name;
  // It and the functions that it calls.
  tensorflow::FunctionDefLibrary library;
  // For each argument of the differentiated function the type of its gradient,
  // DT_INVALID where it has none. The results are the gradients that there are,
  // in this order.
  tensorflow::DataTypeVector gradients;
};

// Differentiates `function`, which `library` holds with all that it calls.
//
// `upstream`: for each result the type of its upstream gradient, DT_INVALID
// where it has none (UpstreamTypes of upstream.h). The gradient function takes
// the arguments of `function` and then the upstream gradients that there are.
//
// `required`: empty, or for each argument the type of a gradient to return in
// any case, as zeros where there is none; DT_INVALID asks for nothing.
//
// Errors: kNotFound, a function or a gradient of an op is missing;
// kUnimplemented, the function may give other values when it runs again,
// contains itself, or a gradient has another type than `required`; else the
// errors of the gradients in it. Made once and then kept. Thread-safe.
absl::StatusOr<std::shared_ptr<const FunctionWithGradients>>
DifferentiateFunction(const tensorflow::FunctionLibraryDefinition& library,
                      const tensorflow::NameAttrList& function,
                      const tensorflow::DataTypeVector& upstream,
                      const tensorflow::DataTypeVector& required = {});

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_DIFFERENTIATE_FUNCTION_H_
