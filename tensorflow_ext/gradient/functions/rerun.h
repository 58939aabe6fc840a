// SPDX-License-Identifier: Apache-2.0
//
// Finds the parts of a function's body that may run a second time.

#ifndef TENSORFLOW_EXT_GRADIENT_FUNCTIONS_RERUN_H_
#define TENSORFLOW_EXT_GRADIENT_FUNCTIONS_RERUN_H_

#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// True if the op only reports to the user, like Assert and PrintV2. Without it, a function returns
// the same.
bool OnlyReports(const tensorflow::Node& node);

// Checks that `again`, some of the nodes `body` of a graph, give the same values when they run
// again: their only state is that of variables that they read, and nothing in `body` writes to
// these. Also checks the functions that they call, which are in the graph's library. Errors:
// kUnimplemented, naming the node and its op.
absl::Status CheckRunsAgain(const tensorflow::Graph& graph,
                            const std::vector<const tensorflow::Node*>& body,
                            const std::unordered_set<const tensorflow::Node*>& again);

// Refuses functions that have several implementations which draw different random numbers
// (api_implements; the sampler of gamma distributions in TensorFlow Probability). Grappler replaces
// the called one when the session runs, but not a body that is a part of a gradient, so the
// gradient would belong to other numbers than the output. Error: kUnimplemented, naming the
// function.
absl::Status CheckImplementations(const tensorflow::FunctionLibraryDefinition& functions);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_RERUN_H_
