// The upstream gradients that AddSymbolicGradients gives to the gradient of a node. An output that
// leads nowhere has none. If another output of the node has one, it makes zeros: ZerosLike of the
// output, whatever its type.

#pragma once

#include <string>
#include <vector>

#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/types.h"

namespace tensorflow_ext {

// The type of each upstream gradient of a node. DT_INVALID if there is none: the output can have no
// gradient, or the gradient is such zeros.
tensorflow::DataTypeVector UpstreamTypes(const tensorflow::Operation& op,
                                         const std::vector<tensorflow::Output>& upstream);

// The upstream gradients of `op` without such zeros of resources, which are removed from the graph.
// No kernel computes them, so a session that places the whole graph, as sessions do by default,
// could run none of it.
std::vector<tensorflow::Output> WithoutZerosOfResources(const tensorflow::Scope& scope,
                                                        const tensorflow::Operation& op,
                                                        std::vector<tensorflow::Output> upstream);

// The upstream gradients of `op` without such zeros of any type, which only mean that a gradient is
// missing. Removes from the graph those that are certainly such zeros and that nobody else holds.
std::vector<tensorflow::Output> WithoutZeros(const tensorflow::Scope& scope,
                                             const tensorflow::Operation& op,
                                             std::vector<tensorflow::Output> upstream);

// True if the call that differentiates in `scope` certainly made the node of this name, so that
// nobody else holds it.
bool IsMadeByThisCall(const tensorflow::Scope& scope, const std::string& name);

}  // namespace tensorflow_ext
