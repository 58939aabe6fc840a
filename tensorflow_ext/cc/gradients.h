// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_CC_GRADIENTS_H_
#define TENSORFLOW_EXT_CC_GRADIENTS_H_

#include <vector>

#include "absl/status/status.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"

namespace tensorflow_ext {

// tensorflow::AddSymbolicGradients with its arguments, and more than that, as
// TfExt_AddGradients of gradient/c_api.h is for C:
//   - an input from which no path leads to an output is no error: its gradient
//     is tensorflow::NoGradient(), whose node() is null;
//   - the gradients are right where one output lies on the way to another,
//     where TensorFlow's may lose an upstream gradient;
//   - what ends the process there is an error here: loops of TensorFlow 1 in an
//     imported graph, loops of ops::BuildWhileLoop of which some outputs have
//     no gradient, tensors of another graph and tensors that are none.
//
// `outputs`: at least one tensor of the graph of `scope`. `inputs`: tensors of
// it. `grad_inputs`: an upstream gradient for each output, of its type and
// shape; NoGradient() where that output is to have none. `grad_outputs` becomes
// a gradient for each input, of its type and shape (of the variable, where the
// input is its handle).
//
// The ops of this library, and those of TensorFlow that it has gradients for,
// have them once libtensorflow_ext.so is linked or loaded
// (Env::LoadDynamicLibrary). As TensorFlow's, this is for one thread at a time
// for each graph; threads with graphs of their own are fine.
//
// Errors: that of the scope, if it has one; INVALID_ARGUMENT, a tensor is none,
// is of another graph or has an index that its node has not, or the numbers do
// not fit; UNIMPLEMENTED, a loop, or a call that may not run again (then
// InlineCalls of tensorflow_ext/inline_calls.h helps); else those of the
// gradients. After an error `grad_outputs` is as it was.
//
// Call it by its full name: for an unqualified one the compiler looks among the
// arguments' namespace too, and finds TensorFlow's beside it.
absl::Status AddSymbolicGradients(
    const tensorflow::Scope& scope,
    const std::vector<tensorflow::Output>& outputs,
    const std::vector<tensorflow::Output>& inputs,
    const std::vector<tensorflow::Output>& grad_inputs,
    std::vector<tensorflow::Output>* grad_outputs);

// The same with ones for upstream gradients.
absl::Status AddSymbolicGradients(
    const tensorflow::Scope& scope,
    const std::vector<tensorflow::Output>& outputs,
    const std::vector<tensorflow::Output>& inputs,
    std::vector<tensorflow::Output>* grad_outputs);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_CC_GRADIENTS_H_
