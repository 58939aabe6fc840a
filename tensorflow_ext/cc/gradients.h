#pragma once

#include <vector>

#include "absl/status/status.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"

namespace tensorflow_ext {

// tensorflow::AddSymbolicGradients with the differences that TfExt_AddGradients of gradient/c_api.h
// has in C:
//   - An input from which no path leads to an output is no error: its gradient
//     is tensorflow::NoGradient(), whose node() is null.
//   - The gradients are right if one output lies on the way to another;
//     TensorFlow's function may lose an upstream gradient there.
//   - Graphs that end the process there give an error here: loops of TensorFlow
//     1 in an imported graph, loops of ops::BuildWhileLoop with some outputs
//     that have no gradient, tensors of another graph and empty tensors.
//
// `outputs`: at least one tensor of the graph of `scope`. `inputs`: tensors of it. `grad_inputs`:
// an upstream gradient for each output, of its type and shape; NoGradient() for an output without
// one. `grad_outputs` becomes a gradient for each input, of its type and shape (of the variable, if
// the input is its handle).
//
// The ops of this library have gradients once libtensorflow_ext.so is linked or loaded
// (Env::LoadDynamicLibrary), and so have the TensorFlow ops that it has gradients for. As with
// TensorFlow's function, only one thread at a time may use a graph; threads with their own graphs
// are fine.
//
// Errors: that of the scope, if it has one; INVALID_ARGUMENT, a tensor is empty, is of another
// graph or has an index that its node does not have, or the numbers of tensors do not match;
// UNIMPLEMENTED, a loop, or a call that may not run again (then InlineCalls of
// tensorflow_ext/inline_calls.h helps); otherwise the errors of the gradients. An error leaves
// `grad_outputs` unchanged.
//
// Call it by its full name: the compiler looks up an unqualified one in the namespace of the
// arguments too, and also finds TensorFlow's.
absl::Status AddSymbolicGradients(const tensorflow::Scope& scope,
                                  const std::vector<tensorflow::Output>& outputs,
                                  const std::vector<tensorflow::Output>& inputs,
                                  const std::vector<tensorflow::Output>& grad_inputs,
                                  std::vector<tensorflow::Output>* grad_outputs);

// The same with upstream gradients of ones.
absl::Status AddSymbolicGradients(const tensorflow::Scope& scope,
                                  const std::vector<tensorflow::Output>& outputs,
                                  const std::vector<tensorflow::Output>& inputs,
                                  std::vector<tensorflow::Output>* grad_outputs);

}  // namespace tensorflow_ext
