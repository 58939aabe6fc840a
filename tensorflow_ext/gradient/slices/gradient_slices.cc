#include "tensorflow_ext/gradient/slices/gradient_slices.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow_ext/gradient/functions/node_copies.h"
#include "tensorflow_ext/gradient/graph/leading_to.h"
#include "tensorflow_ext/gradient/slices/sliced_graph.h"

namespace tensorflow_ext {

using tensorflow::DT_INVALID;
using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::GraphDef;
using tensorflow::Node;
using tensorflow::OutputTensor;

namespace {

// Rewrites a copy of a graph and extracts what differs.
class GraphSlicer {
 public:
  explicit GraphSlicer(const Graph& graph)
      : functions_{graph.flib_def(), {}, {}}, copy_(graph.flib_def()) {
    tensorflow::CopyGraph(graph, &copy_);
    first_new_ = copy_.num_node_ids();
  }

  absl::StatusOr<SlicedGradients> Run(const std::vector<OutputTensor>& gradients,
                                      bool sum_repeated) {
    const auto nodes = copy_.BuildNodeNameIndex();
    SlicedGraph sliced(&copy_, &functions_);
    std::vector<Terms> all, to_slice;
    std::vector<OutputTensor> dense;
    for (const OutputTensor& gradient : gradients) {
      const OutputTensor own(nodes.at(gradient.node->name()), gradient.index);
      TF_ASSIGN_OR_RETURN(Terms terms, sliced.Find(own));
      if (terms.dense.empty() && terms.index_type == DT_INVALID) {
        terms.dense = absl::StrCat(Described(*own.node), ", which is zeros everywhere");
      }
      if (terms.dense.empty()) {
        to_slice.push_back(terms);
      } else {
        dense.push_back(own);
      }
      all.push_back(std::move(terms));
    }
    TF_RETURN_IF_ERROR(sliced.ReplaceCalls(to_slice, &dense));
    auto next_dense = dense.begin();
    std::vector<std::vector<OutputTensor>> found;
    std::vector<const Node*> ends;
    for (const Terms& terms : all) {
      found.emplace_back();
      if (!terms.dense.empty()) {
        found.back().push_back(*next_dense++);
      } else {
        TF_ASSIGN_OR_RETURN(Rows rows, sliced.AddRows(terms, terms.index_type));
        if (sum_repeated) rows = sliced.nodes()->Sum(rows);
        const OutputTensor shape = sliced.nodes()->DenseShape(rows);
        found.back() = {rows.values, rows.indices, shape};
      }
      for (const OutputTensor& tensor : found.back()) ends.push_back(tensor.node);
    }
    TF_RETURN_IF_ERROR(sliced.nodes()->status());
    SlicedGradients result;
    Extract(ends, sliced.nodes()->prefix(), &result.nodes);
    for (size_t k = 0; k < all.size(); ++k) {
      GradientSlices one;
      if (!all[k].dense.empty()) {
        one.dense = NameOfTensor(found[k][0]);
        one.reason = all[k].dense;
      } else {
        one.index_type = all[k].index_type;
        one.values = NameOfTensor(found[k][0]);
        one.indices = NameOfTensor(found[k][1]);
        one.shape = NameOfTensor(found[k][2]);
      }
      result.gradients.push_back(std::move(one));
    }
    return result;
  }

 private:
  // Writes the new nodes that lead to `ends`, and copies of the nodes between them.
  void Extract(const std::vector<const Node*>& ends, const std::string& prefix, GraphDef* nodes) {
    const NodeSet leading = LeadingTo(ends, /*follow_controls=*/true);
    std::vector<const Node*> added;
    for (const Node* node : copy_.op_nodes()) {
      if (node->id() >= first_new_ && leading.count(node) > 0) added.push_back(node);
    }
    NodeSet differs;
    tensorflow::DFSFrom(
        copy_, added, [&](const Node* node) { differs.insert(node); }, nullptr, {},
        [&](const Edge& edge) { return leading.count(edge.dst()) > 0; });
    std::unordered_set<std::string> taken;
    for (const Node* node : added) taken.insert(node->name());
    for (const Node* node : differs) {
      if (node->id() >= first_new_) continue;
      std::string& name = names_[node];
      name = absl::StrCat(prefix, "/", node->name());
      while (!taken.insert(name).second) absl::StrAppend(&name, "_");
    }
    for (const Node* node : copy_.op_nodes()) {
      if (differs.count(node) == 0) continue;
      *nodes->add_node() = DefinitionWith(*node, NameOf(*node), [this](const Edge& edge) {
        return edge.IsControlEdge() ? NameOf(*edge.src())
                                    : NameOfTensor({edge.src(), edge.src_output()});
      });
    }
    for (auto& [name, function] : functions_.made) {
      *nodes->mutable_library()->add_function() = std::move(function);
    }
  }

  const std::string& NameOf(const Node& node) const {
    const auto found = names_.find(&node);
    return found == names_.end() ? node.name() : found->second;
  }

  std::string NameOfTensor(const OutputTensor& tensor) const {
    return absl::StrCat(NameOf(*tensor.node), ":", tensor.index);
  }

  Functions functions_;
  Graph copy_;
  int first_new_ = 0;
  std::unordered_map<const Node*, std::string> names_;
};

}  // namespace

absl::StatusOr<SlicedGradients> SliceGradients(const Graph& graph,
                                               const std::vector<OutputTensor>& gradients,
                                               bool sum_repeated) {
  return GraphSlicer(graph).Run(gradients, sum_repeated);
}

absl::StatusOr<SlicedGradients> SliceGradients(const void* graph_def, size_t length,
                                               const std::vector<std::string>& gradients,
                                               bool sum_repeated) {
  Graph graph(tensorflow::OpRegistry::Global());
  TF_ASSIGN_OR_RETURN(const auto found,
                      ReadGraph(graph_def, length, "gradients", gradients, &graph));
  return SliceGradients(graph, found, sum_repeated);
}

}  // namespace tensorflow_ext
