#include "tensorflow_ext/train/graph_inputs.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace tensorflow_ext::train {

using tensorflow::Graph;
using tensorflow::GraphDef;
using tensorflow::NodeDef;

std::vector<std::string> ReadTensorsOnly(const Graph& graph, GraphDef* nodes) {
  const auto existing = graph.BuildNodeNameIndex();
  std::map<std::string, std::string> waiting;
  std::set<std::string> read;
  const int size = nodes->node_size();
  for (int k = 0; k < size; ++k) {
    for (int i = 0; i < nodes->node(k).input_size(); ++i) {
      const tensorflow::SafeTensorId id(tensorflow::ParseTensorName(nodes->node(k).input(i)));
      const auto found = existing.find(id.node());
      if (found == existing.end()) continue;
      if (id.index() != Graph::kControlSlot) {
        read.insert(id.ToString());
        continue;
      }
      if (found->second->num_outputs() == 0) continue;
      std::string& identity = waiting[id.node()];
      if (identity.empty()) {
        const std::string tensor = absl::StrCat(id.node(), ":0");
        NodeDef* const added = nodes->add_node();
        added->set_op("Identity");
        std::string name = absl::StrCat(nodes->node(k).name(), "/after_", waiting.size());
        while (existing.count(name) > 0) name += "_";
        added->set_name(name);
        added->set_device(found->second->requested_device());
        added->add_input(tensor);
        tensorflow::SetAttrValue(found->second->output_type(0), &(*added->mutable_attr())["T"]);
        read.insert(tensor);
        identity = added->name();
      }
      *nodes->mutable_node(k)->mutable_input(i) = absl::StrCat("^", identity);
    }
  }
  return {read.begin(), read.end()};
}

}  // namespace tensorflow_ext::train
