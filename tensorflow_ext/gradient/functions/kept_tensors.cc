// The part of GradientBody that keeps tensors of the forward pass.

#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/algorithm/container.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow_ext/gradient/functions/gradient_body.h"
#include "tensorflow_ext/gradient/functions/rerun.h"

namespace tensorflow_ext {

absl::Status GradientBody::FindNeeded(NodeSet* needed, std::vector<const Edge*>* kept,
                                      std::vector<const Edge*>* controls) {
  const StateOf state(graph_, forward_);
  const NodeSet forward(forward_.begin(), forward_.end()),
      reports(reports_.begin(), reports_.end());
  std::unordered_map<const Node*, absl::Status> runs_again;
  std::deque<const Node*> open(ends_.begin(), ends_.end());
  needed->insert(ends_.begin(), ends_.end());
  while (!open.empty()) {
    const Node* node = open.front();
    open.pop_front();
    if (forward.count(node) == 0) TF_RETURN_IF_ERROR(state.CheckRunsAfter(*node));
    for (const Edge* edge : node->in_edges()) {
      const Node* source = edge->src();
      bool stops = reports.count(source) > 0;
      if (forward.count(source) > 0) {
        const auto [found, is_new] = runs_again.emplace(source, absl::OkStatus());
        if (is_new) found->second = state.CheckRunsAgain(*source);
        stops = !found->second.ok();
        if (!edge->IsControlEdge()) runs_again_.Update(found->second);
      }
      if (stops) {
        (edge->IsControlEdge() ? controls : kept)->push_back(edge);
      } else if (needed->insert(source).second) {
        open.push_back(source);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status GradientBody::MakeForward(const std::vector<Output>& more_results) {
  std::vector<const Node*> ends(forward_.begin(), forward_.end());
  ends.insert(ends.end(), reports_.begin(), reports_.end());
  ends.insert(ends.end(), arguments_.begin(), arguments_.end());
  // A loop in the function may have got inputs from new nodes, so these count, too.
  const NodeSet own = LeadingTo(ends, /*follow_controls=*/true);
  forward_graph_ = std::make_unique<Graph>(graph_.flib_def());
  tensorflow::CopyGraph(graph_, forward_graph_.get());
  const auto copies = forward_graph_->BuildNodeNameIndex();
  std::vector<Output> results = results_;
  results.insert(results.end(), more_results.begin(), more_results.end());
  for (size_t i = 0; i < results.size(); ++i) {
    Node* node = nullptr;
    TF_RETURN_IF_ERROR(NodeBuilder(scope_.GetUniqueNameForOp("result"), "_Retval")
                           .Input(copies.at(results[i].node()->name()), results[i].index())
                           .Attr("index", static_cast<int>(i))
                           .Finalize(forward_graph_.get(), &node));
  }
  for (const Node* node : graph_.op_nodes()) {
    if (own.count(node) == 0) forward_graph_->RemoveNode(copies.at(node->name()));
  }
  return absl::OkStatus();
}

absl::Status GradientBody::Keep(const std::vector<const Edge*>& edges, bool with_forward) {
  std::map<std::pair<int, int>, int> places;  // in `kept_`, by node and output
  std::vector<Output> tensors, more_results;
  for (const Edge* edge : edges) {
    const Output tensor(edge->src(), edge->src_output());
    if (tensorflow::IsRefType(tensor.type()) || tensor.type() == DT_RESOURCE) return runs_again_;
    if (!places.emplace(std::pair(edge->src()->id(), edge->src_output()), kept_.size()).second) {
      continue;
    }
    tensors.push_back(tensor);
    const auto result = absl::c_find(results_, tensor);
    if (result != results_.end()) {
      kept_.push_back(result - results_.begin());
      continue;
    }
    kept_.push_back(results_.size() + more_results.size());
    kept_types_.push_back(tensor.type());
    more_results.push_back(tensor);
  }
  if (with_forward || !more_results.empty()) TF_RETURN_IF_ERROR(MakeForward(more_results));
  std::vector<Node*> arguments;
  for (const Output& tensor : tensors) {
    const int index = arguments_.size() + upstreams_.size() + arguments.size();
    NodeBuilder builder = New("kept", "_Arg");
    builder.Attr("T", tensor.type()).Attr("index", index);
    SetShape(tensor, &builder);
    TF_ASSIGN_OR_RETURN(Node * argument, Add(std::move(builder)));
    arguments.push_back(argument);
  }
  for (const Edge* edge : edges) {
    Node* const argument = arguments[places.at({edge->src()->id(), edge->src_output()})];
    TF_RETURN_IF_ERROR(graph_.UpdateEdge(argument, 0, edge->dst(), edge->dst_input()));
  }
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
