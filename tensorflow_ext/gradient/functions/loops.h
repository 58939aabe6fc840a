// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LOOPS_H_
#define TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LOOPS_H_

#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// Refuses to differentiate what loops of TensorFlow 1 lead to. For those that
// TF_NewWhile made AddSymbolicGradients has a gradient. By others, which come
// with an imported graph or a function, it ends the process as soon as it
// reaches their end; so this is to be asked before.
// Errors: kUnimplemented, one of `ends` is in such a loop, or a loop with a
// differentiable result leads to it; names the node.
absl::Status CheckNoLoops(const tensorflow::Graph& graph,
                          const std::vector<const tensorflow::Node*>& ends);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LOOPS_H_
