// Turns a plan into plain nodes of the client's graph.

#pragma once

#include <vector>

#include "absl/status/status.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow_ext/gradient/plan/plan.h"

namespace tensorflow_ext {

// Adds the steps of `plan` to the graph of `scope` as the gradient of the op `forward`, a node of
// that graph.
//
// `upstream`: the gradient of each output of `forward`; one without a node means zeros. `gradients`
// receives one tensor per input of `forward`, or NoGradient().
//
// A gradient whose known shape differs from that of its input, or of the variable behind it, is an
// error. If a shape is unknown, a node checks it at run time if ChecksAtRunTime()
// (run_time_checks.h).
//
// gradient_nodes.h describes the names and devices of the nodes.
//
// On an error the added nodes are removed.
absl::Status Expand(const Plan& plan, const tensorflow::Scope& scope,
                    const tensorflow::Operation& forward,
                    const std::vector<tensorflow::Output>& upstream,
                    std::vector<tensorflow::Output>* gradients);

}  // namespace tensorflow_ext
