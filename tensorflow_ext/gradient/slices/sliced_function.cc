#include "tensorflow_ext/gradient/slices/sliced_function.h"

#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/function_body.h"
#include "tensorflow/core/common_runtime/function_def_utils.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/graph_to_functiondef.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/functions/function_builder.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::FunctionBody;
using tensorflow::FunctionDef;
using tensorflow::NameAttrList;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::OutputTensor;

SlicedFunction::SlicedFunction(const FunctionDef& definition, Functions* functions)
    : definition_(definition), functions_(functions), graph_(functions->library) {}

absl::StatusOr<std::unique_ptr<SlicedFunction>> SlicedFunction::Read(const NameAttrList& function,
                                                                     Functions* functions) {
  const auto record = functions->library.FindRecord(function.name());
  if (!record) {
    return absl::NotFoundError(
        absl::StrCat("Function '", function.name(), "' is not in the graph's library"));
  }
  // The library, which outlives this object, keeps the definition.
  std::unique_ptr<SlicedFunction> read(new SlicedFunction(record->fdef(), functions));
  TF_RETURN_IF_ERROR(read->ReadBody(function));
  return read;
}

absl::Status SlicedFunction::ReadBody(const NameAttrList& function) {
  std::unique_ptr<FunctionBody> body;
  TF_RETURN_IF_ERROR(tensorflow::FunctionDefToBodyHelper(
      definition_, tensorflow::AttrSlice(&function.attr()), &functions_->library, &body));
  // The graph of `body` itself has no library.
  tensorflow::CopyGraph(*body->graph, &graph_);
  for (const Node* node : body->control_ret_nodes) control_results_.insert(node->name());
  retvals_.resize(body->ret_nodes.size());
  for (Node* node : graph_.op_nodes()) {
    int index = 0;
    if (!node->IsRetval()) continue;
    TF_RETURN_IF_ERROR(GetNodeAttr(node->attrs(), "index", &index));
    retvals_[index] = node;
  }
  sliced_ = std::make_unique<SlicedGraph>(&graph_, functions_);
  return absl::OkStatus();
}

absl::StatusOr<Terms> SlicedFunction::FindResult(int k) {
  const std::string& name = definition_.signature().name();
  Terms terms;
  if (absl::c_linear_search(functions_->callers, name)) {
    terms.dense = absl::StrCat("function '", name, "', which calls itself,");
    return terms;
  }
  functions_->callers.push_back(name);
  absl::StatusOr<Terms> found = sliced_->Find(InputOf(*retvals_[k], 0));
  functions_->callers.pop_back();
  if (found.ok() && !found->dense.empty()) {
    absl::StrAppend(&found->dense, " in function '", name, "'");
  }
  return found;
}

absl::StatusOr<std::string> SlicedFunction::Make(const std::set<int>& kept,
                                                 const std::set<int>& sliced,
                                                 const std::vector<DataType>& index_types) {
  std::vector<Terms> gradients;
  std::vector<OutputTensor> results;
  for (int k : sliced) {
    TF_ASSIGN_OR_RETURN(Terms terms, FindResult(k));
    gradients.push_back(std::move(terms));
  }
  for (int k : kept) results.push_back(InputOf(*retvals_[k], 0));
  TF_RETURN_IF_ERROR(sliced_->ReplaceCalls(gradients, &results));
  for (size_t i = 0; i < gradients.size(); ++i) {
    TF_ASSIGN_OR_RETURN(const Rows rows, sliced_->AddRows(gradients[i], index_types[i]));
    results.insert(results.end(), {rows.values, rows.indices, rows.num_rows});
  }
  for (Node* retval : retvals_) graph_.RemoveNode(retval);
  std::unordered_set<const Node*> needed;
  for (size_t i = 0; i < results.size(); ++i) {
    Node* result = nullptr;
    TF_RETURN_IF_ERROR(NodeBuilder(sliced_->nodes()->NewName("result"), "_Retval")
                           .Input(results[i].node, results[i].index)
                           .Attr("index", static_cast<int>(i))
                           .Finalize(&graph_, &result));
    needed.insert(result);
  }
  for (Node* node : graph_.op_nodes()) {
    if (node->IsArg() || control_results_.count(node->name()) > 0) needed.insert(node);
  }
  tensorflow::PruneForReverseReachability(&graph_, needed);
  TF_ASSIGN_OR_RETURN(FunctionDef made, ToFunction());
  const std::string name = made.signature().name();
  functions_->made[name] = std::move(made);
  return name;
}

absl::StatusOr<FunctionDef> SlicedFunction::ToFunction() const {
  FunctionDef function;
  const std::string name = absl::StrCat(definition_.signature().name(), "_slices");
  TF_RETURN_IF_ERROR(tensorflow::GraphToFunctionDef(
      graph_, name,
      [this](const Node* node) -> std::optional<std::string> {
        if (control_results_.count(node->name()) == 0) return std::nullopt;
        return node->name();
      },
      &function));
  // It runs as the other one does.
  *function.mutable_attr() = definition_.attr();
  *function.mutable_arg_attr() = definition_.arg_attr();
  *function.mutable_resource_arg_unique_id() = definition_.resource_arg_unique_id();
  function.mutable_signature()->set_is_stateful(definition_.signature().is_stateful());
  NameByContent(name, &function);
  return function;
}

}  // namespace tensorflow_ext
