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
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow_ext/functionalize/tensor_arrays.h"
#include "tensorflow_ext/functionalize/while_nodes.h"
#include "tensorflow_ext/gradient/graph/leading_to.h"

namespace tensorflow_ext {

using tensorflow::ControlFlowInfo;
using tensorflow::Edge;
using tensorflow::FunctionDef;
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
      : graph_(graph),
        library_(tensorflow::OpRegistry::Global(), graph->library()),
        salt_(tensorflow::DeterministicProtoHash64(*graph)) {
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
    FinishLoops(old_functions_, parallel_iterations_, salt_, graph_);
    return absl::OkStatus();
  }

 private:
  absl::Status ConvertMainGraph() {
    GraphDef nodes;
    nodes.Swap(graph_);
    graph_->mutable_library()->Swap(nodes.mutable_library());
    TF_ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, Convert(std::move(nodes), {}));
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
    std::set<std::string> must_run;
    for (const auto& [name, node] : function->control_ret()) must_run.insert(node);
    TF_ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, Convert(std::move(nodes), must_run));

    // A node in a loop must run, so the loop must.
    std::set<std::string> names;
    for (const Node* node : graph->op_nodes()) names.insert(node->name());
    std::map<std::string, std::string> control_results;  // by the name of the node
    for (const auto& [name, node] : function->control_ret()) {
      const std::string& place = names.count(node) > 0 ? node : outer_loops_[node];
      if (names.count(place) > 0) control_results.emplace(place, name);
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
      results[old_signature.output_arg(i).name()] = now->ret().at(signature->output_arg(i).name());
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

  // The nodes without loops of TensorFlow 1. `must_run`: nodes whose side effects a function has.
  absl::StatusOr<std::unique_ptr<Graph>> Convert(GraphDef nodes,
                                                 const std::set<std::string>& must_run) {
    TF_RETURN_IF_ERROR(TensorArraysToLists(&nodes));
    auto graph = std::make_unique<Graph>(library_);
    tensorflow::GraphConstructorOptions options;
    options.allow_internal_ops = true;  // the arguments and results of functions
    TF_RETURN_IF_ERROR(tensorflow::ConvertGraphDefToGraph(options, std::move(nodes), graph.get()));
    tensorflow::FixupSourceAndSinkEdges(graph.get());
    std::vector<ControlFlowInfo> places;
    std::vector<std::string> unreachable;
    TF_RETURN_IF_ERROR(tensorflow::BuildControlFlowInfo(graph.get(), &places, &unreachable));
    if (!unreachable.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("node '", unreachable[0],
                       "' is part of a loop that nothing enters; expected an Enter "
                       "node"));
    }
    TF_RETURN_IF_ERROR(CheckLoops(*graph, places));
    TF_RETURN_IF_ERROR(CheckSideEffects(*graph, places, must_run));
    TF_RETURN_IF_ERROR(MoveControlInputs(graph.get(), places));
    TF_ASSIGN_OR_RETURN(const std::set<std::string> outside, KeepOutside(graph.get(), places));
    const absl::Status status = tensorflow::FunctionalizeControlFlow(
        graph.get(), &library_, [&](const Node* node) { return outside.count(node->name()) == 0; });
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

  // Reads the settings of each loop. Errors: kInvalidArgument, a loop has no condition or no exit;
  // kUnimplemented, a reference to a variable enters a loop.
  absl::Status CheckLoops(const Graph& graph, const std::vector<ControlFlowInfo>& places) {
    std::map<std::string, const Node*> frames, conditions, exits;
    for (const Node* node : graph.op_nodes()) {
      const std::string& frame = places[node->id()].frame_name;
      if (node->IsEnter()) {
        frames.emplace(frame, node);
        if (tensorflow::IsRefType(node->output_type(0))) {
          return absl::UnimplementedError(absl::StrCat(
              "node '", node->name(), "' of op ", node->type_string(),
              " takes a variable of TensorFlow 1 into a loop, which may assign it; expected its "
              "value, or a resource variable (use_resource=True)"));
        }
      }
      if (node->IsExit()) exits.emplace(frame, node);
      if (node->IsLoopCond()) conditions.emplace(frame, node);
    }
    for (const auto& [frame, enter] : frames) {
      for (const bool exit : {false, true}) {
        if ((exit ? exits : conditions).count(frame) > 0) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("loop '", frame, "', which node '", enter->name(), "' enters, has no ",
                         exit ? "Exit" : "LoopCond",
                         " node; expected one, as tf.while_loop makes. Outputs in a loop cannot be "
                         "kept"));
      }
      int parallel = 0;
      TF_RETURN_IF_ERROR(GetNodeAttr(enter->attrs(), "parallel_iterations", &parallel));
      parallel_iterations_[conditions[frame]->name()] = parallel;
    }
    outer_loops_.clear();
    for (const Node* node : graph.op_nodes()) {
      const Node* enter = places[node->id()].frame;
      if (enter->IsSource()) continue;
      while (!places[enter->id()].parent_frame->IsSource()) {
        enter = places[enter->id()].parent_frame;
      }
      outer_loops_[node->name()] = conditions[places[enter->id()].frame_name]->name();
    }
    return absl::OkStatus();
  }

  // TensorFlow drops nodes of a loop that lead to no next iteration. Error: kUnimplemented, one of
  // them has side effects.
  static absl::Status CheckSideEffects(const Graph& graph,
                                       const std::vector<ControlFlowInfo>& places,
                                       const std::set<std::string>& must_run) {
    std::vector<const Node*> ends;
    for (const Node* node : graph.op_nodes()) {
      if (node->IsNextIteration() || node->IsLoopCond()) ends.push_back(node);
    }
    const NodeSet leading = LeadingTo(ends, /*follow_controls=*/true);
    for (const Node* node : graph.op_nodes()) {
      if (must_run.count(node->name()) == 0 || places[node->id()].frame->IsSource()) continue;
      if (leading.count(node) > 0 || !node->op_def().is_stateful()) continue;
      return absl::UnimplementedError(
          absl::StrCat("node '", node->name(), "' of op ", node->type_string(),
                       " has side effects in a loop that does not wait for them; make a loop "
                       "variable depend on it (tf.control_dependencies)"));
    }
    return absl::OkStatus();
  }

  // TensorFlow drops the control inputs of the nodes that it replaces. Those of Enter, LoopCond and
  // NextIteration move to an Identity in front of the node. Error: kUnimplemented, another node of
  // a loop has one.
  static absl::Status MoveControlInputs(Graph* graph, std::vector<ControlFlowInfo>& places) {
    const std::vector<Node*> nodes(graph->op_nodes().begin(), graph->op_nodes().end());
    for (Node* node : nodes) {
      std::vector<const Edge*> controls;
      for (const Edge* edge : node->in_edges()) {
        if (edge->IsControlEdge() && edge->src()->IsOp()) controls.push_back(edge);
      }
      if (controls.empty()) continue;
      if (IsLoopVariable(*node)) {
        return absl::UnimplementedError(
            absl::StrCat("node '", node->name(), "' of op ", node->type_string(),
                         " of a loop has the control input '", controls[0]->src()->name(),
                         "'; expected none, as tf.while_loop makes none"));
      }
      if (!node->IsEnter() && !node->IsLoopCond() && !node->IsNextIteration()) continue;
      const Edge* data = nullptr;
      TF_RETURN_IF_ERROR(node->input_edge(0, &data));
      tensorflow::NodeBuilder builder(graph->NewName(absl::StrCat(node->name(), "/after")),
                                      "Identity");
      builder.Input(data->src(), data->src_output()).Device(node->requested_device());
      for (const Edge* edge : controls) builder.ControlInput(edge->src());
      Node* after = nullptr;
      TF_RETURN_IF_ERROR(builder.Finalize(graph, &after));
      TF_RETURN_IF_ERROR(graph->UpdateEdge(after, 0, node, 0));
      for (const Edge* edge : controls) graph->RemoveControlEdge(edge);
      // The Identity is where the node's input is, which is outside the loop for an Enter.
      places.resize(graph->num_node_ids());
      const ControlFlowInfo& place = places[node->id()];
      places[after->id()] = node->IsEnter() ? places[place.parent_frame->id()] : place;
    }
    return absl::OkStatus();
  }

  // True for the Merge, Switch and Exit of a loop's variable.
  static bool IsLoopVariable(const Node& node) {
    return node.IsExit() || absl::c_any_of(node.in_edges(), [&](const Edge* edge) {
             return (node.IsMerge() && edge->src()->IsNextIteration()) ||
                    (node.IsSwitch() && edge->src()->IsLoopCond());
           });
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
  tensorflow::FunctionLibraryDefinition library_;
  const uint64_t salt_;
  std::set<std::string> old_functions_;
  std::map<std::string, int> parallel_iterations_;  // by the name of the condition
  // The condition of the outermost loop around a node, of the last graph.
  std::map<std::string, std::string> outer_loops_;
};

}  // namespace

bool HasLoops(const GraphDef& graph) {
  return HasEnter(graph.node()) ||
         absl::c_any_of(graph.library().function(),
                        [](const FunctionDef& function) { return HasEnter(function.node_def()); });
}

absl::Status LoopsToFunctions(GraphDef* graph) { return LoopConverter(graph).Run(); }

}  // namespace tensorflow_ext
