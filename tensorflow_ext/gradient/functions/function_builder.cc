#include "tensorflow_ext/gradient/functions/function_builder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/graph_to_functiondef.h"
#include "tensorflow/core/framework/op.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::DataTypeVector;
using tensorflow::DT_INT32;
using tensorflow::FunctionDef;
using tensorflow::Graph;
using tensorflow::NameAttrList;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Output;
using tensorflow::Tensor;

std::vector<NodeBuilder::NodeOut> NodeOuts(const Outputs& tensors) {
  std::vector<NodeBuilder::NodeOut> result;
  for (const Output& x : tensors) result.emplace_back(x.node(), x.index());
  return result;
}

Tensor ScalarInt(int value) {
  Tensor tensor(DT_INT32, {});
  tensor.scalar<int>()() = value;
  return tensor;
}

NameAttrList Named(const std::string& function) {
  NameAttrList named;
  named.set_name(function);
  return named;
}

void NameByContent(const std::string& name, FunctionDef* function) {
  function->mutable_signature()->set_name(
      absl::StrCat(name, "_", absl::Hex(tensorflow::FunctionDefHash(*function), absl::kZeroPad16)));
}

absl::StatusOr<FunctionDef> ToFunctionWithEffects(const Graph& graph, const std::string& name) {
  bool is_stateful = false;
  const auto control_output = [&is_stateful](const Node* node) -> std::optional<std::string> {
    if (!node->IsOp() || node->IsArg() || !node->op_def().is_stateful()) return std::nullopt;
    is_stateful = true;
    return node->name();
  };
  FunctionDef function;
  TF_RETURN_IF_ERROR(tensorflow::GraphToFunctionDef(graph, name, control_output, &function));
  function.mutable_signature()->set_is_stateful(is_stateful);
  return function;
}

FunctionBuilder::FunctionBuilder() : graph_(tensorflow::OpRegistry::Global()) {}

Outputs FunctionBuilder::Arguments(const DataTypeVector& types) {
  Outputs arguments;
  for (DataType type : types) {
    NodeBuilder argument = New("_Arg");
    argument.Attr("T", type).Attr("index", num_arguments_++);
    arguments.push_back(Add(std::move(argument))[0]);
  }
  return arguments;
}

NodeBuilder FunctionBuilder::New(const char* op) {
  return NodeBuilder(absl::StrCat(op, num_nodes_++), op);
}

Node* FunctionBuilder::AddNode(NodeBuilder builder) {
  Node* node = nullptr;
  if (status_.ok()) status_ = builder.Finalize(&graph_, &node);
  return node;
}

Outputs FunctionBuilder::Add(NodeBuilder builder) {
  Node* const node = AddNode(std::move(builder));
  if (node == nullptr) return Outputs(1);
  Outputs outputs;
  for (int i = 0; i < node->num_outputs(); ++i) outputs.emplace_back(node, i);
  return outputs;
}

Output FunctionBuilder::Int(int value) {
  NodeBuilder constant = New("Const");
  constant.Attr("dtype", DT_INT32).Attr("value", ScalarInt(value));
  return Add(std::move(constant))[0];
}

Output FunctionBuilder::Empty(DataType type) {
  if (type == tensorflow::DT_VARIANT) {
    const Output any = Int(-1);
    NodeBuilder list = New("EmptyTensorList");
    list.Input(any.node(), any.index()).Input(any.node(), any.index());
    return Add(std::move(list.Attr("element_dtype", tensorflow::DT_FLOAT)))[0];
  }
  NodeBuilder constant = New("Const");
  constant.Attr("dtype", type).Attr("value", Tensor(type, {0}));
  return Add(std::move(constant))[0];
}

Output FunctionBuilder::Binary(const char* op, const Output& x, const Output& y) {
  NodeBuilder node = New(op);
  node.Input(x.node(), x.index()).Input(y.node(), y.index());
  return Add(std::move(node))[0];
}

Outputs FunctionBuilder::Call(const char* op, const NameAttrList& function,
                              const Outputs& arguments, const DataTypeVector& types) {
  NodeBuilder call = New(op);
  call.Input(NodeOuts(arguments)).Attr("Tout", types).Attr("f", function);
  Outputs results = Add(std::move(call));
  results.resize(types.size());
  return results;
}

absl::StatusOr<NameAttrList> FunctionBuilder::Finish(const std::string& name,
                                                     const Outputs& results, Graph* graph) {
  for (size_t i = 0; i < results.size(); ++i) {
    NodeBuilder result = New("_Retval");
    result.Input(results[i].node(), results[i].index()).Attr("index", static_cast<int>(i));
    Add(std::move(result));
  }
  TF_RETURN_IF_ERROR(status_);
  TF_ASSIGN_OR_RETURN(FunctionDef function, ToFunctionWithEffects(graph_, name));
  NameByContent(name, &function);
  const NameAttrList made = Named(function.signature().name());
  tensorflow::FunctionDefLibrary library;
  *library.add_function() = std::move(function);
  TF_RETURN_IF_ERROR(graph->AddFunctionLibrary(library));
  return made;
}

}  // namespace tensorflow_ext
