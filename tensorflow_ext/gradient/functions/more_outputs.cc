#include "tensorflow_ext/gradient/functions/more_outputs.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/c/c_api_internal.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow_ext/gradient/expand/static_shapes.h"

namespace tensorflow_ext {

using tensorflow::Edge;
using tensorflow::Node;
using tensorflow::Scope;

namespace {

// The graph of the C interface that the scope belongs to; null if there is none. A TF_Graph holds
// its graph and its shape refiner side by side, and a C++ scope allocates them one by one, so no
// other two have this distance.
TF_Graph* GraphOfC(const Scope& scope) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  constexpr size_t kGraph = offsetof(TF_Graph, graph), kRefiner = offsetof(TF_Graph, refiner);
#pragma GCC diagnostic pop
  const uintptr_t graph = reinterpret_cast<uintptr_t>(scope.graph());
  const uintptr_t refiner = reinterpret_cast<uintptr_t>(RefinerOf(scope));
  if (refiner - graph != kRefiner - kGraph) return nullptr;
  return reinterpret_cast<TF_Graph*>(graph - kGraph);
}

}  // namespace

absl::Status CheckMayChange(const Scope& scope, const Node& node, const absl::Status& why) {
  TF_Graph* graph = GraphOfC(scope);
  if (graph == nullptr) return absl::OkStatus();
  // The caller of the gradient holds the graph's lock.
  for (const auto& [session, mutation] : graph->sessions) {
    const tensorflow::mutex_lock lock(session->mu);
    if (node.id() >= session->last_num_graph_nodes) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        why.message(), ". So node '", node.name(),
        "' must also return values of the forward pass, but a session has this node and would not "
        "see that. Add the gradients before the first run of the session. For a model that was "
        "loaded with its session, first copy its functions into the graph, by the op "
        "TfExt>InlineCalls (in C also TfExt_InlineCalls, in C++ tensorflow_ext::InlineCalls), and "
        "differentiate the copies"));
  }
  return absl::OkStatus();
}

absl::Status AddOutputs(const Scope& scope, const char* types,
                        const tensorflow::DataTypeVector& more, Node* node) {
  const int before = node->num_outputs();
  tensorflow::DataTypeVector all;
  TF_RETURN_IF_ERROR(GetNodeAttr(node->attrs(), types, &all));
  all.insert(all.end(), more.begin(), more.end());
  std::vector<tensorflow::PartialTensorShape> shapes;
  if (GetNodeAttr(node->attrs(), "output_shapes", &shapes).ok() && !shapes.empty()) {
    shapes.resize(all.size());
    node->AddAttr("output_shapes", shapes);
  }
  node->AddAttr(types, all);
  tensorflow::ShapeRefiner* refiner = RefinerOf(scope);
  if (refiner == nullptr) return absl::OkStatus();
  tensorflow::shape_inference::InferenceContext* context = refiner->GetContext(node);
  if (context == nullptr) return absl::OkStatus();
  for (int i = before; i < node->num_outputs(); ++i) {
    TF_RETURN_IF_ERROR(refiner->SetShape(node, i, context->UnknownShape()));
  }
  return absl::OkStatus();
}

absl::Status AddLoopVariables(const Scope& scope, const tensorflow::DataTypeVector& types,
                              const std::vector<tensorflow::Output>& values, Node* loop) {
  tensorflow::Graph* const graph = scope.graph();
  // The types come first, because the loop must know an input before it gets it.
  TF_RETURN_IF_ERROR(AddOutputs(scope, "T", types, loop));
  // AddWhileInputHack puts an input last, and a NodeDef names control inputs after the others.
  std::vector<Node*> controls;
  const std::vector<const Edge*> edges(loop->in_edges().begin(), loop->in_edges().end());
  for (const Edge* edge : edges) {
    if (!edge->IsControlEdge() || !edge->src()->IsOp()) continue;
    controls.push_back(edge->src());
    graph->RemoveControlEdge(edge);
  }
  for (const tensorflow::Output& value : values) {
    TF_RETURN_IF_ERROR(graph->AddWhileInputHack(value.node(), value.index(), loop));
  }
  for (Node* control : controls) graph->AddControlEdge(control, loop);
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
