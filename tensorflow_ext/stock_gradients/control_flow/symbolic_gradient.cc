// SymbolicGradient is the gradient of a function, or of an op, by its name, in the function runtime
// and TensorFlow 1: it maps x and dy to dx. Its own gradient is that of a function that computes
// the same (differentiate_function.h), so calls that are not inlined have a second order in
// clients.

#include <memory>
#include <vector>

#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/define/node_attributes.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/expand/upstream.h"
#include "tensorflow_ext/gradient/functions/differentiate_function.h"
#include "tensorflow_ext/gradient/functions/function_builder.h"
#include "tensorflow_ext/gradient/plan/plan.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DataTypeVector;
using tensorflow::DT_INVALID;
using tensorflow::NameAttrList;
using tensorflow::NodeBuilder;
using tensorflow::OpDef;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;

// A function in the graph's library that consists of the op `f`.
absl::StatusOr<NameAttrList> FunctionOfOp(const NameAttrList& f, tensorflow::Graph* graph) {
  const OpDef* op_def = nullptr;
  TF_RETURN_IF_ERROR(tensorflow::OpRegistry::Global()->LookUpOpDef(f.name(), &op_def));
  tensorflow::NodeDef node_def;
  node_def.set_op(f.name());
  *node_def.mutable_attr() = f.attr();
  tensorflow::AddDefaultsToNodeDef(*op_def, &node_def);
  DataTypeVector types;
  TF_RETURN_IF_ERROR(tensorflow::InputTypesForNode(node_def, *op_def, &types));
  FunctionBuilder function;
  const Outputs arguments = function.Arguments(types);
  NodeBuilder builder = function.New(f.name().c_str());
  for (const auto& [name, value] : node_def.attr()) builder.Attr(name, value);
  auto next = arguments.begin();
  for (const OpDef::ArgDef& argument : op_def->input_arg()) {
    const auto end = next + SizeOf(argument, node_def);
    if (IsList(argument)) {
      builder.Input(NodeOuts(Outputs(next, end)));
    } else {
      builder.Input(next->node(), next->index());
    }
    next = end;
  }
  return function.Finish(f.name(), function.Add(builder), graph);
}

absl::Status AddAll(const Scope& scope, const Operation& op, const std::vector<Output>& upstream,
                    GradientNodes* nodes, std::vector<Output>* gradients) {
  gradients->assign(op.num_inputs(), tensorflow::NoGradient());
  NameAttrList f;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(op.node()->attrs(), "f", &f));
  tensorflow::Graph* graph = scope.graph();
  if (!graph->flib_def().Contains(f.name())) {
    TF_ASSIGN_OR_RETURN(f, FunctionOfOp(f, graph));
  }
  // The inputs and results of the node that its function has.
  const int num_arguments = op.num_outputs();
  DataTypeVector types_of_dy;
  std::vector<int> taken;
  for (int i = 0; i < op.num_inputs(); ++i) {
    const bool is_argument = i < num_arguments;
    const bool differentiable = IsDifferentiable(op.input_type(i));
    if (!is_argument) {
      types_of_dy.push_back(differentiable ? op.input_type(i) : DT_INVALID);
    }
    if (is_argument || differentiable) taken.push_back(i);
  }
  TF_ASSIGN_OR_RETURN(const auto first, DifferentiateFunction(graph->flib_def(), f, types_of_dy));
  TF_RETURN_IF_ERROR(CheckNothingKept(*first));
  TF_RETURN_IF_ERROR(graph->AddFunctionLibrary(first->library));
  const DataTypeVector upstream_types = UpstreamTypes(op, upstream);
  DataTypeVector types_of_ddx;
  std::vector<NodeBuilder::NodeOut> arguments;
  for (int i : taken) {
    arguments.emplace_back(op.input(i).node(), op.input(i).index());
  }
  for (int i = 0; i < num_arguments; ++i) {
    if (first->gradients[i] == DT_INVALID) continue;
    types_of_ddx.push_back(upstream_types[i]);
    if (upstream_types[i] == DT_INVALID) continue;
    arguments.emplace_back(upstream[i].node(), upstream[i].index());
  }

  TF_ASSIGN_OR_RETURN(const auto second,
                      DifferentiateFunction(graph->flib_def(), Named(first->name), types_of_ddx));
  TF_RETURN_IF_ERROR(CheckNothingKept(*second));
  TF_RETURN_IF_ERROR(graph->AddFunctionLibrary(second->library));
  DataTypeVector types;
  for (tensorflow::DataType type : second->gradients) {
    if (type != DT_INVALID) types.push_back(type);
  }
  if (types.empty()) return absl::OkStatus();
  NodeBuilder builder = nodes->New("call", "StatefulPartitionedCall");
  builder.Input(arguments).Attr("Tout", types).Attr("f", Named(second->name));
  TF_ASSIGN_OR_RETURN(tensorflow::Node * call, nodes->Add(builder));
  int result = 0;
  for (size_t k = 0; k < second->gradients.size(); ++k) {
    if (second->gradients[k] == DT_INVALID) continue;
    TF_ASSIGN_OR_RETURN((*gradients)[taken[k]], nodes->WrapInIdentity(Output(call, result++)));
  }
  return absl::OkStatus();
}

absl::Status SymbolicGradientGrad(const Scope& scope, const Operation& op,
                                  const std::vector<Output>& upstream,
                                  std::vector<Output>* gradients) {
  GradientNodes nodes(scope, op);
  return nodes.Finish(
      AddAll(scope, op, WithoutZerosOfResources(scope, op, upstream), &nodes, gradients));
}

[[maybe_unused]] const bool registered_symbolic_gradient =
    RegisterClientGradient("SymbolicGradient", SymbolicGradientGrad);

}  // namespace
}  // namespace tensorflow_ext
