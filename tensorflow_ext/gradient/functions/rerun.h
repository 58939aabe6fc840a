// SPDX-License-Identifier: Apache-2.0
//
// Which parts of a function's body may run a second time to have their values.

#ifndef TENSORFLOW_EXT_GRADIENT_FUNCTIONS_RERUN_H_
#define TENSORFLOW_EXT_GRADIENT_FUNCTIONS_RERUN_H_

#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// Whether the op only reports to the user, as Assert and PrintV2 do: without it
// a function returns the same.
bool OnlyReports(const tensorflow::Node& node);

// Whether `again`, some of the nodes `body` of a graph, give the same values
// when they run again: the only state that they have to do with is that of
// variables that they read, and nothing in `body` writes to these. The
// functions that they call, which the graph's library holds, are looked at too.
// Errors: kUnimplemented, naming the node and its op.
absl::Status CheckRunsAgain(
    const tensorflow::Graph& graph,
    const std::vector<const tensorflow::Node*>& body,
    const std::unordered_set<const tensorflow::Node*>& again);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_RERUN_H_
