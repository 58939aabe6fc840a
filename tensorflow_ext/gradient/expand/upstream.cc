#include "tensorflow_ext/gradient/expand/upstream.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/scope_internal.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/gradient/plan/plan.h"

namespace tensorflow_ext {

using tensorflow::DataTypeVector;
using tensorflow::DT_INVALID;
using tensorflow::Edge;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;

namespace {

// True if `gradient` of an output of `op` is missing, or zeros made in its place.
bool IsMissing(const Output& gradient, const Operation& op, int output) {
  if (gradient.node() == nullptr) return true;
  if (gradient.node()->type_string() != "ZerosLike") return false;
  const Edge* edge = nullptr;
  return gradient.node()->input_edge(0, &edge).ok() && edge->src() == op.node() &&
         edge->src_output() == output;
}

}  // namespace

// TF_AddGradients makes a scope for one call, with a name that no other node has, and shares its
// graph with no other scope. A C++ client may hold nodes that its scope made.
bool IsMadeByThisCall(const Scope& scope, const std::string& name) {
  constexpr int kThisOneAndTheScope = 2;
  const auto graph = scope.graph_as_shared_ptr();
  const std::string& prefix = scope.impl()->name();
  return graph.use_count() == kThisOneAndTheScope && !prefix.empty() &&
         absl::StartsWith(name, absl::StrCat(prefix, "/"));
}

DataTypeVector UpstreamTypes(const Operation& op, const std::vector<Output>& upstream) {
  DataTypeVector types(upstream.size(), DT_INVALID);
  for (size_t i = 0; i < upstream.size(); ++i) {
    if (IsDifferentiable(tensorflow::BaseType(op.output_type(i))) &&
        !IsMissing(upstream[i], op, i)) {
      types[i] = upstream[i].type();
    }
  }
  return types;
}

std::vector<Output> WithoutZerosOfResources(const Scope& scope, const Operation& op,
                                            std::vector<Output> upstream) {
  for (size_t i = 0; i < upstream.size(); ++i) {
    if (tensorflow::BaseType(op.output_type(i)) != tensorflow::DT_RESOURCE ||
        upstream[i].node() == nullptr || !IsMissing(upstream[i], op, i)) {
      continue;
    }
    scope.graph()->RemoveNode(upstream[i].node());
    upstream[i] = Output();
  }
  return upstream;
}

std::vector<Output> WithoutZeros(const Scope& scope, const Operation& op,
                                 std::vector<Output> upstream) {
  upstream = WithoutZerosOfResources(scope, op, std::move(upstream));
  for (size_t i = 0; i < upstream.size(); ++i) {
    tensorflow::Node* const node = upstream[i].node();
    if (node == nullptr || !IsMissing(upstream[i], op, i) || !node->out_edges().empty() ||
        !IsMadeByThisCall(scope, node->name())) {
      continue;
    }
    scope.graph()->RemoveNode(node);
    upstream[i] = Output();
  }
  return upstream;
}

}  // namespace tensorflow_ext
