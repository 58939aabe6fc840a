#include "tensorflow_ext/gradient/functions/inline_calls.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/function_body.h"
#include "tensorflow/core/common_runtime/inline_function_utils.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow_ext/gradient/functions/custom_gradients.h"

namespace tensorflow_ext {

using tensorflow::FunctionBody;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::Graph;
using tensorflow::InlinedFunctionBodyPlacer;
using tensorflow::InlineFunctionBodyOptions;
using tensorflow::NameAttrList;
using tensorflow::Node;

namespace {

// Inlines the calls among the nodes from id `first` on. `callers`: the functions that these nodes
// come from, each called by the previous one.
absl::Status InlineFrom(int first, const FunctionLibraryDefinition& library, Graph* graph,
                        std::vector<std::string>* callers) {
  InlineFunctionBodyOptions options;
  options.ignore_noinline = true;
  options.inline_impl_selection_group_functions = true;
  // A node with a control edge from the call waits for the call's side effects, not only for its
  // results.
  options.output_control_src = InlineFunctionBodyOptions::OutputControlSource::kControlOutputs;
  const int end = graph->num_node_ids();
  for (int id = first; id < end; ++id) {
    Node* node = graph->FindNodeId(id);
    if (node == nullptr || !IsInlinedCall(library, *node)) continue;
    const NameAttrList function = CalledFunction(*node);
    const std::string& name = function.name();
    const auto record = library.FindRecord(name);
    if (!record) {
      return absl::NotFoundError(
          absl::StrCat("Function '", name, "' is not in the graph's library"));
    }
    if (std::count(callers->begin(), callers->end(), name) > 0) {
      return absl::UnimplementedError(absl::StrCat("function '", name, "' calls itself"));
    }
    TF_ASSIGN_OR_RETURN(const std::unique_ptr<FunctionBody> body,
                        BodyWithGradients(library, record->fdef(), function));
    // Places the body as TensorFlow does when it runs such a call.
    options.inlined_function_body_placer = node->IsPartitionedCall()
                                               ? InlinedFunctionBodyPlacer::MultiDevice()
                                               : InlinedFunctionBodyPlacer::SingleDevice();
    const int first_new = graph->num_node_ids();
    TF_RETURN_IF_ERROR(tensorflow::InlineFunctionBody(library, graph, node, body.get(), options));
    callers->push_back(name);
    TF_RETURN_IF_ERROR(InlineFrom(first_new, library, graph, callers));
    callers->pop_back();
  }
  return absl::OkStatus();
}

}  // namespace

NameAttrList CalledFunction(const Node& node) {
  NameAttrList function;
  if (node.IsPartitionedCall()) {
    // Every such node has the attribute.
    if (const auto* f = node.attrs().Find("f")) function = f->func();
  } else if (node.IsFunctionCall() && node.type_string() != "SymbolicGradient") {
    function.set_name(node.type_string());
    for (const auto& [name, value] : node.def().attr()) {
      (*function.mutable_attr())[name] = value;
    }
  }
  return function;
}

bool IsInlinedCall(const FunctionLibraryDefinition& library, const Node& node) {
  const std::string name = CalledFunction(node).name();
  bool compiled = false;
  TryGetNodeAttr(node.attrs(), "_XlaMustCompile", &compiled);
  return !name.empty() && !compiled && library.FindGradient(name).empty();
}

absl::Status InlineCalls(const FunctionLibraryDefinition& library, const std::string& function,
                         Graph* graph) {
  std::vector<std::string> callers{function};
  return InlineFrom(0, library, graph, &callers);
}

}  // namespace tensorflow_ext
