// Ops that specify how a tensor is distributed over devices. The value does not change; the
// gradient must only be distributed like the input.

#include <string>
#include <vector>

#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/common_runtime/shape_refiner.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

using tensorflow::Node;
using tensorflow::Output;
using tensorflow::TensorShape;

// ---- XLA

// The gradient is sharded like the value. XLA reads the private attribute.
void XlaShardingGrad(Gradient& g) {
  g.Return({Call("XlaSharding", {g.Upstream()},
                 {{"sharding", OfOp{"sharding"}},
                  {"unspecified_dims", OfOp{"unspecified_dims"}},
                  {"_XlaSharding", g.Attr<std::string>("sharding")}})});
}
REGISTER_GRADIENT("XlaSharding", XlaShardingGrad);

void ShardToFullGrad(Gradient& g) {
  g.Return({Call("XlaSpmdFullToShardShape", {g.Upstream()},
                 g.AttrsOfOp({"manual_sharding", "dim", "unspecified_dims"}))});
}
REGISTER_GRADIENT("XlaSpmdShardToFullShape", ShardToFullGrad);

// The static shape of `tensor`, inferred from all nodes that lead to it.
absl::StatusOr<TensorShape> StaticShape(const tensorflow::Graph& graph, const Output& tensor) {
  tensorflow::ShapeRefiner refiner(graph.versions(), &graph.flib_def());
  absl::Status status;
  tensorflow::ReverseDFSFrom(
      graph, {tensor.node()}, /*enter=*/nullptr,
      [&](Node* node) {
        if (status.ok() && node->IsOp()) status = refiner.AddNode(node);
      },
      tensorflow::NodeComparatorName());
  TF_RETURN_IF_ERROR(status);
  tensorflow::shape_inference::InferenceContext* context = refiner.GetContext(tensor.node());
  tensorflow::TensorShapeProto proto;
  context->ShapeHandleToProto(context->output(tensor.index()), &proto);
  TensorShape shape;
  if (!tensorflow::PartialTensorShape(proto).AsTensorShape(&shape)) {
    return absl::UnimplementedError(
        "the shape of the input is not static, but an attribute of XlaSpmdShardToFullShape "
        "needs it; set the shape with EnsureShape");
  }
  return shape;
}

// No definition: the full shape is not in the attributes.
absl::Status FullToShardGrad(const tensorflow::Scope& scope, const tensorflow::Operation& op,
                             const std::vector<Output>& upstream, std::vector<Output>* gradients) {
  GradientNodes nodes(scope, op);
  const auto run = [&]() -> absl::Status {
    TF_ASSIGN_OR_RETURN(const TensorShape shape, StaticShape(*scope.graph(), op.input(0)));
    tensorflow::NodeBuilder builder = nodes.New("full", "XlaSpmdShardToFullShape");
    builder.Input(upstream[0].node(), upstream[0].index()).Attr("full_shape", shape);
    for (const char* name : {"manual_sharding", "dim", "unspecified_dims"}) {
      builder.Attr(name, *op.node()->attrs().Find(name));
    }
    TF_ASSIGN_OR_RETURN(Node * full, nodes.Add(builder));
    *gradients = {Output(full, 0)};
    return absl::OkStatus();
  };
  return nodes.Finish(run());
}
[[maybe_unused]] const bool registered_sharding_ops =
    RegisterClientGradient("XlaSpmdFullToShardShape", FullToShardGrad);

// ---- DTensor

// Relayout and RelayoutLike: the gradient gets the input's layout.
void RelayoutGrad(Gradient& g) { g.ReturnFirst(Call("RelayoutLike", {g.Upstream(), g.Input(0)})); }
REGISTER_GRADIENT("Relayout", RelayoutGrad);
REGISTER_GRADIENT("RelayoutLike", RelayoutGrad);

// CopyToMesh and CopyToMeshGrad: the gradient goes to the input's mesh.
void CopyToMeshGrad(Gradient& g) {
  g.ReturnFirst(Call("CopyToMeshGrad", {g.Upstream(), g.Input(0)}));
}
REGISTER_GRADIENT("CopyToMesh", CopyToMeshGrad);
REGISTER_GRADIENT("CopyToMeshGrad", CopyToMeshGrad);

}  // namespace
}  // namespace tensorflow_ext
