// SPDX-License-Identifier: Apache-2.0
//
// From a plan to plain nodes of the client's graph.

#ifndef TENSORFLOW_EXT_GRADIENT_EXPAND_EXPAND_H_
#define TENSORFLOW_EXT_GRADIENT_EXPAND_EXPAND_H_

#include <vector>

#include "absl/status/status.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow_ext/gradient/plan/plan.h"

namespace tensorflow_ext {

// Adds the steps of `plan` to the graph of `scope` as the gradient of the op
// `forward`, a node of that graph.
//
// `upstream`: the gradient of each output of `forward`; one without a node
// stands for zeros. `gradients` receives one tensor per input of `forward`,
// NoGradient() where there is none.
//
// A gradient whose shape is known and is not that of its input, or of the
// variable behind it, is an error. Where a shape is not known, a node checks it
// at run time if ChecksAtRunTime() (run_time_checks.h).
//
// Nodes are named and placed as gradient_nodes.h says.
//
// On an error the nodes already added are taken out again.
absl::Status Expand(const Plan& plan, const tensorflow::Scope& scope,
                    const tensorflow::Operation& forward,
                    const std::vector<tensorflow::Output>& upstream,
                    std::vector<tensorflow::Output>* gradients);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_EXPAND_EXPAND_H_
