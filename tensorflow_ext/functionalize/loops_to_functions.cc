// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/functionalize/loops_to_functions.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/functionalize_control_flow.h"
#include "tensorflow/core/common_runtime/function_body.h"
#include "tensorflow/core/common_runtime/function_def_utils.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/graph_to_functiondef.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/graph/control_flow.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow_ext/functionalize/tensor_arrays.h"
#include "tensorflow_ext/functionalize/while_nodes.h"

namespace tensorflow_ext {

using tensorflow::ControlFlowInfo;
using tensorflow::Edge;
using tensorflow::FunctionDef;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::Graph;
using tensorflow::GraphDef;
using tensorflow::Node;
using tensorflow::NodeDef;

namespace {

bool HasEnter(const google::protobuf::RepeatedPtrField<NodeDef>& nodes) {
  return absl::c_any_of(
      nodes, [](const NodeDef& node) { return node.op() == "Enter" || node.op() == "RefEnter"; });
}

absl::Status WithPlace(const absl::Status& status, const std::string& function) {
  if (status.ok() || function.empty()) return status;
  return tensorflow::errors::CreateWithUpdatedMessage(
      status, absl::StrCat("function '", function, "': ", status.message()));
}

class LoopConverter {
 public:
  explicit LoopConverter(GraphDef* graph)
      : graph_(graph), library_(tensorflow::OpRegistry::Global(), graph->library()) {
    for (const FunctionDef& function : graph->library().function()) {
      old_functions_.insert(function.signature().name());
    }
  }

  absl::Status Run() {
    for (FunctionDef& function : *graph_->mutable_library()->mutable_function()) {
      if (!HasEnter(function.node_def())) continue;
      TF_RETURN_IF_ERROR(WithPlace(ConvertFunction(&function), function.signature().name()));
    }
    if (HasEnter(graph_->node())) TF_RETURN_IF_ERROR(ConvertMainGraph());
    AddNewFunctions();
    return FinishLoops(old_functions_, parallel_iterations_, graph_);
  }

 private:
  absl::Status ConvertMainGraph() {
    GraphDef nodes;
    nodes.Swap(graph_);
    graph_->mutable_library()->Swap(nodes.mutable_library());
    TF_ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, Convert(std::move(nodes)));
    GraphDef converted;
    graph->ToGraphDef(&converted);
    converted.mutable_library()->Swap(graph_->mutable_library());
    graph_->Swap(&converted);
    return absl::OkStatus();
  }

  // The function gets a new body and keeps its name and its signature.
  absl::Status ConvertFunction(FunctionDef* function) {
    if (!function->signature().attr().empty()) {
      return absl::UnimplementedError("a function with attributes has a loop of TensorFlow 1");
    }
    std::unique_ptr<tensorflow::FunctionBody> body;
    TF_RETURN_IF_ERROR(
        tensorflow::FunctionDefToBodyHelper(*function, tensorflow::AttrSlice(), &library_, &body));
    GraphDef nodes;
    body->graph->ToGraphDef(&nodes);
    nodes.clear_library();
    TF_ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, Convert(std::move(nodes)));

    std::map<std::string, std::string> control_results;  // by the name of the node
    for (const auto& [name, node] : function->control_ret()) {
      const auto kept = absl::c_any_of(graph->op_nodes(),
                                       [&](const Node* other) { return other->name() == node; });
      if (kept) control_results[node] = name;
    }
    FunctionDef converted;
    TF_RETURN_IF_ERROR(tensorflow::GraphToFunctionDef(
        *graph, function->signature().name(),
        [&](const Node* node) -> std::optional<std::string> {
          const auto found = control_results.find(node->name());
          if (found == control_results.end()) return std::nullopt;
          return found->second;
        },
        &converted));
    TF_RETURN_IF_ERROR(RestoreSignature(*function, &converted));
    TF_RETURN_IF_ERROR(library_.ReplaceFunction(function->signature().name(), converted));
    function->Swap(&converted);
    return absl::OkStatus();
  }

  static absl::Status RestoreSignature(const FunctionDef& before, FunctionDef* now) {
    const auto& old_signature = before.signature();
    auto* signature = now->mutable_signature();
    if (signature->input_arg_size() != old_signature.input_arg_size() ||
        signature->output_arg_size() != old_signature.output_arg_size()) {
      return absl::InternalError("the converted function has other arguments or results");
    }
    for (int i = 0; i < signature->input_arg_size(); ++i) {
      if (signature->input_arg(i).name() == old_signature.input_arg(i).name()) continue;
      return absl::InternalError(absl::StrCat("argument ", old_signature.input_arg(i).name(),
                                              " became ", signature->input_arg(i).name()));
    }
    google::protobuf::Map<std::string, std::string> results;
    for (int i = 0; i < signature->output_arg_size(); ++i) {
      results[old_signature.output_arg(i).name()] =
          now->ret().at(signature->output_arg(i).name());
    }
    now->mutable_ret()->swap(results);
    // Some control outputs may be gone: ops of TensorArrays have side effects, those of lists none.
    std::vector<std::string> controls;
    for (const std::string& control : old_signature.control_output()) {
      if (now->control_ret().count(control) > 0) controls.push_back(control);
    }
    *signature = old_signature;
    signature->clear_control_output();
    for (const std::string& control : controls) signature->add_control_output(control);
    *now->mutable_attr() = before.attr();
    *now->mutable_arg_attr() = before.arg_attr();
    *now->mutable_resource_arg_unique_id() = before.resource_arg_unique_id();
    return absl::OkStatus();
  }

  // The nodes without loops of TensorFlow 1.
  absl::StatusOr<std::unique_ptr<Graph>> Convert(GraphDef nodes) {
    TF_RETURN_IF_ERROR(TensorArraysToLists(&nodes));
    auto graph = std::make_unique<Graph>(library_);
    tensorflow::GraphConstructorOptions options;
    options.allow_internal_ops = true;  // the arguments and results of functions
    TF_RETURN_IF_ERROR(
        tensorflow::ConvertGraphDefToGraph(options, std::move(nodes), graph.get()));
    tensorflow::FixupSourceAndSinkEdges(graph.get());
    std::vector<ControlFlowInfo> places;
    std::vector<std::string> unreachable;
    TF_RETURN_IF_ERROR(tensorflow::BuildControlFlowInfo(graph.get(), &places, &unreachable));
    if (!unreachable.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "node '", unreachable[0], "' is part of a loop that nothing enters; expected an Enter "
          "node"));
    }
    TF_RETURN_IF_ERROR(CheckLoops(*graph, places));
    TF_ASSIGN_OR_RETURN(const std::set<std::string> outside, KeepOutside(graph.get(), places));
    const absl::Status status = tensorflow::FunctionalizeControlFlow(
        graph.get(), &library_,
        [&](const Node* node) { return outside.count(node->name()) == 0; });
    if (!status.ok()) {
      return tensorflow::errors::CreateWithUpdatedMessage(
          status, absl::StrCat("TensorFlow cannot turn a loop into functions: ", status.message()));
    }
    for (const Node* node : graph->op_nodes()) {
      if (!node->IsEnter() && !node->IsExit() && !node->IsNextIteration()) continue;
      return absl::UnimplementedError(absl::StrCat("node '", node->name(), "' of op ",
                                                   node->type_string(),
                                                   " stays behind; its loop has an unknown form"));
    }
    return graph;
  }

  // Reads the settings of each loop. Errors: kInvalidArgument, a loop has no condition or no exit.
  absl::Status CheckLoops(const Graph& graph, const std::vector<ControlFlowInfo>& places) {
    std::map<std::string, const Node*> frames, conditions, exits;
    for (const Node* node : graph.op_nodes()) {
      const std::string& frame = places[node->id()].frame_name;
      if (node->IsEnter()) frames.emplace(frame, node);
      if (node->IsExit()) exits.emplace(frame, node);
      if (node->IsLoopCond()) conditions.emplace(frame, node);
    }
    for (const auto& [frame, enter] : frames) {
      for (const bool exit : {false, true}) {
        if ((exit ? exits : conditions).count(frame) > 0) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("loop '", frame, "', which node '", enter->name(), "' enters, has no ",
                         exit ? "Exit" : "LoopCond", " node; expected one, as tf.while_loop has"));
      }
      int parallel = 0;
      TF_RETURN_IF_ERROR(GetNodeAttr(enter->attrs(), "parallel_iterations", &parallel));
      parallel_iterations_[conditions[frame]->name()] = parallel;
    }
    return absl::OkStatus();
  }

  // Prepares the graph around the loops. The results of loops get an Identity with the name of the
  // Exit, which vanishes. Returns the branches that stay.
  static absl::StatusOr<std::set<std::string>> KeepOutside(
      Graph* graph, const std::vector<ControlFlowInfo>& places) {
    std::set<std::string> outside, names;
    std::vector<Node*> exits;
    for (Node* node : graph->op_nodes()) {
      names.insert(node->name());
      const ControlFlowInfo& place = places[node->id()];
      if (node->IsExit() && place.parent_frame->IsSource()) exits.push_back(node);
      if ((node->IsSwitch() || node->IsMerge()) && place.frame->IsSource()) {
        outside.insert(node->name());
      }
    }
    for (Node* exit : exits) {
      const std::string name = exit->name();
      std::string renamed = absl::StrCat(name, "/exit");
      while (!names.insert(renamed).second) absl::StrAppend(&renamed, "_");
      exit->set_name(renamed);
      Node* result = nullptr;
      TF_RETURN_IF_ERROR(tensorflow::NodeBuilder(name, "Identity")
                             .Input(exit, 0)
                             .Device(exit->requested_device())
                             .Finalize(graph, &result));
      const std::vector<const Edge*> edges(exit->out_edges().begin(), exit->out_edges().end());
      for (const Edge* edge : edges) {
        Node* user = edge->dst();
        if (user == result) continue;
        const int input = edge->dst_input();
        if (edge->IsControlEdge()) {
          graph->RemoveControlEdge(edge);
          graph->AddControlEdge(result, user);
        } else {
          TF_RETURN_IF_ERROR(graph->UpdateEdge(result, 0, user, input));
        }
      }
    }
    tensorflow::FixupSourceAndSinkEdges(graph);
    return outside;
  }

  void AddNewFunctions() {
    std::set<std::string> names;
    for (const std::string& name : library_.ListFunctionNames()) {
      if (old_functions_.count(name) == 0) names.insert(name);
    }
    for (const std::string& name : names) {
      *graph_->mutable_library()->add_function() = library_.FindRecord(name)->fdef();
    }
  }

  GraphDef* graph_;
  FunctionLibraryDefinition library_;
  std::set<std::string> old_functions_;
  std::map<std::string, int> parallel_iterations_;  // by the name of the condition
};

}  // namespace

bool HasLoops(const GraphDef& graph) {
  return HasEnter(graph.node()) ||
         absl::c_any_of(graph.library().function(),
                        [](const FunctionDef& function) { return HasEnter(function.node_def()); });
}

absl::Status LoopsToFunctions(GraphDef* graph) { return LoopConverter(graph).Run(); }

}  // namespace tensorflow_ext
