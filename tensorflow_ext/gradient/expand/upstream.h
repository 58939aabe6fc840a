// SPDX-License-Identifier: Apache-2.0
//
// What AddSymbolicGradients hands to the gradient of a node as its upstream
// gradients. It has none for an output that leads nowhere; where another output
// of the node has one it makes zeros, ZerosLike of the output, whatever its
// type is.

#ifndef TENSORFLOW_EXT_GRADIENT_EXPAND_UPSTREAM_H_
#define TENSORFLOW_EXT_GRADIENT_EXPAND_UPSTREAM_H_

#include <string>
#include <vector>

#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/types.h"

namespace tensorflow_ext {

// The type of each upstream gradient of a node, DT_INVALID where there is none:
// where its output can have no gradient, and where it is such zeros.
tensorflow::DataTypeVector UpstreamTypes(
    const tensorflow::Operation& op,
    const std::vector<tensorflow::Output>& upstream);

// The upstream gradients of `op` without such zeros of resources, which it
// takes out of the graph: no kernel computes them, so a session that places the
// whole graph, as every one does by default, could not run any of it.
std::vector<tensorflow::Output> WithoutZerosOfResources(
    const tensorflow::Scope& scope, const tensorflow::Operation& op,
    std::vector<tensorflow::Output> upstream);

// The upstream gradients of `op` without such zeros of any type, of which it
// takes those out of the graph that are certain to be such and in nobody else's
// hands: that a gradient is missing is all that they say.
std::vector<tensorflow::Output> WithoutZeros(
    const tensorflow::Scope& scope, const tensorflow::Operation& op,
    std::vector<tensorflow::Output> upstream);

// Whether a node of this name was certainly made by the call that
// differentiates in `scope`, so that nobody else holds it.
bool IsMadeByThisCall(const tensorflow::Scope& scope, const std::string& name);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_EXPAND_UPSTREAM_H_
