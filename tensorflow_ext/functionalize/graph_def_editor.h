#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/types.pb.h"

namespace tensorflow_ext {

// A node and the index of its output.
using TensorName = std::pair<std::string, int>;

// Removes the nodes for which `keep(node)` is false.
template <typename Keep>
void KeepNodes(const Keep& keep, tensorflow::GraphDef* graph) {
  auto* nodes = graph->mutable_node();
  int kept = 0;
  for (int i = 0; i < nodes->size(); ++i) {
    if (keep(*nodes->Mutable(i))) nodes->SwapElements(i, kept++);
  }
  nodes->DeleteSubrange(kept, nodes->size() - kept);
}

// Changes nodes of a GraphDef. A node keeps its address and its place; new nodes come last.
class GraphDefEditor {
 public:
  explicit GraphDefEditor(tensorflow::GraphDef* graph);

  // All nodes that the graph had at first, in order.
  std::vector<tensorflow::NodeDef*> Nodes() const;

  // The node of that name, or null.
  tensorflow::NodeDef* Find(absl::string_view name) const;

  // A node and the index of its input.
  using Use = std::pair<tensorflow::NodeDef*, int>;

  // The nodes whose inputs the tensor was at first.
  const std::vector<Use>& Uses(const TensorName& tensor) const;

  // True if a node has `node` as a control input at first.
  bool IsControl(const std::string& node) const;

  // kInvalidArgument if the node has not `count` inputs, besides control inputs.
  absl::Status CheckInputs(const tensorflow::NodeDef& node, int count) const;

  // Makes the node one of another op with these inputs. It keeps its control inputs, its device and
  // its attributes that belong to no op.
  void Become(tensorflow::NodeDef* node, const char* op, const std::vector<std::string>& inputs);

  // Adds a node for `owner`, with its device and a name below its name.
  tensorflow::NodeDef* Add(const tensorflow::NodeDef& owner, const char* name, const char* op,
                           const std::vector<std::string>& inputs);

  // Removes those of `nodes` that no remaining node has as an input; returns the others.
  std::vector<tensorflow::NodeDef*> RemoveUnused(const std::set<tensorflow::NodeDef*>& nodes);

  // Sets an attribute, and drops the recorded shapes of the outputs.
  static void SetType(tensorflow::NodeDef* node, const char* attribute, tensorflow::DataType type);

 private:
  tensorflow::GraphDef* graph_;
  std::unordered_map<std::string, tensorflow::NodeDef*> nodes_;
  std::map<TensorName, std::vector<Use>> uses_;
  std::unordered_map<std::string, int> num_controls_;
};

}  // namespace tensorflow_ext
