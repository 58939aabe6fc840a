#include "tensorflow_ext/gradient/functions/inlined_copy.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/functions/inline_calls.h"
#include "tensorflow_ext/gradient/functions/node_copies.h"
#include "tensorflow_ext/gradient/functions/rerun.h"
#include "tensorflow_ext/gradient/graph/leading_to.h"

namespace tensorflow_ext {

using tensorflow::Edge;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::NodeDef;
using tensorflow::OutputTensor;

namespace {

class Copier {
 public:
  explicit Copier(const Graph& graph)
      : source_(graph),
        library_(graph.flib_def()),
        prefix_(FreshPrefix(graph, "inlined")),
        copy_(library_) {}

  absl::StatusOr<InlinedCopy> Copy(const std::vector<OutputTensor>& tensors) {
    FindCopied(tensors);
    TF_RETURN_IF_ERROR(CopyNodes());
    for (const OutputTensor& tensor : tensors) {
      TF_RETURN_IF_ERROR(AddResult(tensor));
    }
    TF_RETURN_IF_ERROR(InlineCalls(library_, /*function=*/"", &copy_));
    return Extract(tensors);
  }

 private:
  // Finds the calls that lead to the tensors, and the nodes in between. A branch, loop or compiled
  // call whose gradient keeps something must change (more_outputs.h), and a session may have it, so
  // it counts as a call.
  void FindCopied(const std::vector<OutputTensor>& tensors) {
    std::vector<const Node*> ends;
    for (const OutputTensor& tensor : tensors) ends.push_back(tensor.node);
    const NodeSet leading = LeadingTo(ends, /*follow_controls=*/true);
    std::vector<const Node*> calls;
    for (const Node* node : leading) {
      if (IsInlinedCall(library_, *node) ||
          (CallsFunctions(library_, *node) &&
           !StateOf(source_, {node}).CheckRunsAgain(*node).ok())) {
        calls.push_back(node);
      }
    }
    tensorflow::DFSFrom(
        source_, calls,
        [&](const Node* node) {
          if (leading.count(node) > 0) copied_[node] = nullptr;
        },
        nullptr, {}, [&](const Edge& edge) { return leading.count(edge.dst()) > 0; });
  }

  absl::Status CopyNodes() {
    for (const Node* node : source_.op_nodes()) {
      const auto found = copied_.find(node);
      if (found == copied_.end()) continue;
      NodeDef def = node->def();
      def.set_name(absl::StrCat(prefix_, "/", node->name()));
      TF_ASSIGN_OR_RETURN(found->second, copy_.AddNode(std::move(def)));
      found->second->set_assigned_device_name(node->assigned_device_name());
    }
    for (const auto& [node, copy] : copied_) {
      for (const Edge* edge : node->in_edges()) {
        if (!edge->src()->IsOp()) continue;
        if (edge->IsControlEdge()) {
          TF_ASSIGN_OR_RETURN(Node * source, FindControl(edge->src()));
          copy_.AddControlEdge(source, copy);
        } else {
          TF_ASSIGN_OR_RETURN(OutputTensor source,
                              Find(OutputTensor(edge->src(), edge->src_output())));
          copy_.AddEdge(source.node, source.index, copy, edge->dst_input());
        }
      }
    }
    return absl::OkStatus();
  }

  // The copy of a tensor of the graph. A tensor that is not copied gets a placeholder node until
  // Extract.
  absl::StatusOr<OutputTensor> Find(const OutputTensor& tensor) {
    const auto found = copied_.find(tensor.node);
    if (found != copied_.end()) {
      return OutputTensor(found->second, tensor.index);
    }
    const std::string name = absl::StrCat(tensor.node->name(), ":", tensor.index);
    Node*& node = outside_[name];
    if (node == nullptr) {
      TF_RETURN_IF_ERROR(
          NodeBuilder(absl::StrCat("outside_", outside_.size()), "Placeholder")
              .Attr("dtype", tensorflow::BaseType(tensor.node->output_type(tensor.index)))
              .Finalize(&copy_, &node));
      names_[node] = name;
    }
    return OutputTensor(node, 0);
  }

  absl::StatusOr<Node*> FindControl(const Node* source) {
    const auto found = copied_.find(source);
    if (found != copied_.end()) return found->second;
    Node*& node = outside_[absl::StrCat("^", source->name())];
    if (node == nullptr) {
      TF_RETURN_IF_ERROR(
          NodeBuilder(absl::StrCat("outside_", outside_.size()), "NoOp").Finalize(&copy_, &node));
      names_[node] = source->name();
    }
    return node;
  }

  // Adds an identity of the copy of `tensor`. It waits for the calls that lead to it, and so, once
  // these are inlined, for their side effects.
  absl::Status AddResult(const OutputTensor& tensor) {
    const auto found = copied_.find(tensor.node);
    if (found == copied_.end()) {
      results_.push_back(nullptr);
      return absl::OkStatus();
    }
    NodeBuilder builder(absl::StrCat(prefix_, "/output_", results_.size()), "Identity");
    builder.Input(found->second, tensor.index);
    for (const Node* node : LeadingTo({found->second}, /*follow_controls=*/true)) {
      if (IsInlinedCall(library_, *node) && HasSideEffects(*node)) {
        builder.ControlInput(copy_.FindNodeId(node->id()));
      }
    }
    Node* result = nullptr;
    TF_RETURN_IF_ERROR(builder.Finalize(&copy_, &result));
    results_.push_back(result);
    return absl::OkStatus();
  }

  bool HasSideEffects(const Node& call) const {
    const auto record = library_.FindRecord(CalledFunction(call).name());
    return record && !record->fdef().control_ret().empty();
  }

  InlinedCopy Extract(const std::vector<OutputTensor>& tensors) {
    // Inlining names some nodes after the function.
    std::unordered_set<std::string> taken;
    for (const Node* node : copy_.op_nodes()) {
      if (names_.count(node) > 0) continue;
      std::string name = node->name();
      if (!absl::StartsWith(name, prefix_ + "/")) {
        name = absl::StrCat(prefix_, "/", name);
      }
      while (!taken.insert(name).second) absl::StrAppend(&name, "_");
      names_[node] = name;
    }
    InlinedCopy result;
    for (const Node* node : copy_.op_nodes()) {
      // Placeholders of outside tensors have outside names.
      if (!absl::StartsWith(names_[node], prefix_ + "/")) continue;
      *result.nodes.add_node() = Definition(*node);
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      result.tensors.push_back(results_[i] != nullptr
                                   ? absl::StrCat(names_[results_[i]], ":0")
                                   : absl::StrCat(tensors[i].node->name(), ":", tensors[i].index));
    }
    return result;
  }

  NodeDef Definition(const Node& node) {
    return DefinitionWith(node, names_[&node], [this](const Edge& edge) {
      const std::string& source = names_[edge.src()];
      // An outside name tells the tensor.
      if (edge.IsControlEdge() || absl::StrContains(source, ":")) return source;
      return absl::StrCat(source, ":", edge.src_output());
    });
  }

  const Graph& source_;
  const FunctionLibraryDefinition& library_;
  const std::string prefix_;
  Graph copy_;
  std::unordered_map<const Node*, Node*> copied_;
  // Maps the name of a tensor that is not copied, or "^node", to its placeholder in `copy_`; and
  // the names that nodes of `copy_` get, including these.
  std::unordered_map<std::string, Node*> outside_;
  std::unordered_map<const Node*, std::string> names_;
  std::vector<Node*> results_;
};

}  // namespace

absl::StatusOr<InlinedCopy> CopyInlined(const Graph& graph,
                                        const std::vector<OutputTensor>& tensors) {
  return Copier(graph).Copy(tensors);
}

absl::StatusOr<InlinedCopy> CopyInlined(const void* graph_def, size_t length,
                                        const std::vector<std::string>& tensors) {
  Graph graph(tensorflow::OpRegistry::Global());
  TF_ASSIGN_OR_RETURN(const auto found, ReadGraph(graph_def, length, "outputs", tensors, &graph));
  return CopyInlined(graph, found);
}

}  // namespace tensorflow_ext
