// The checkpoints of tf.train.Checkpoint. The name "dense/kernel" is the variable `kernel` of the
// object `dense`. A checkpoint has it under a key that is made of this name, and says which object
// has which variable (tensorflow/core/protobuf/trackable_object_graph.proto).

#include "tensorflow_ext/train/saver.h"

#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tensorflow/core/protobuf/trackable_object_graph.pb.h"
#include "tensorflow_ext/gradient/functions/node_copies.h"
#include "tensorflow_ext/train/new_nodes.h"
#include "tensorflow_ext/train/variable.h"

namespace tensorflow_ext::train {

using tensorflow::DT_STRING;
using tensorflow::Graph;
using tensorflow::NodeDef;
using tensorflow::OutputTensor;
using tensorflow::Tensor;
using tensorflow::tstring;

namespace {

constexpr char kObjectGraph[] = "_CHECKPOINTABLE_OBJECT_GRAPH";

Tensor Strings(const std::vector<std::string>& values) {
  Tensor tensor(DT_STRING, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.vec<tstring>()(i) = values[i];
  return tensor;
}

Tensor String(const std::string& value) {
  Tensor tensor(DT_STRING, {});
  tensor.scalar<tstring>()() = value;
  return tensor;
}

// The key of a variable: tensorflow/python/trackable/trackable_utils.py.
std::string Key(const std::string& name) {
  return absl::StrCat(absl::StrReplaceAll(name, {{".", ".."}}), "/.ATTRIBUTES/VARIABLE_VALUE");
}

// The objects of variables of these names.
std::string ObjectGraph(const std::vector<std::string>& names) {
  tensorflow::TrackableObjectGraph graph;
  graph.add_nodes();
  std::map<std::string, int> ids = {{"", 0}};
  for (const std::string& name : names) {
    std::string path;
    int parent = 0;
    for (const absl::string_view part : absl::StrSplit(name, '/')) {
      absl::StrAppend(&path, "/", part);
      const auto [place, is_new] = ids.try_emplace(path, graph.nodes_size());
      if (is_new) {
        auto* const child = graph.mutable_nodes(parent)->add_children();
        child->set_node_id(place->second);
        child->set_local_name(std::string(part));
        graph.add_nodes();
      }
      parent = place->second;
    }
    auto* const attribute = graph.mutable_nodes(parent)->add_attributes();
    attribute->set_name("VARIABLE_VALUE");
    attribute->set_full_name(name);
    attribute->set_checkpoint_key(Key(name));
  }
  return graph.SerializeAsString();
}

}  // namespace

absl::StatusOr<Saver> MakeSaver(const Graph& graph, const std::vector<OutputTensor>& variables,
                                std::vector<std::string> names) {
  std::vector<Variable> all;
  for (const OutputTensor& handle : variables) {
    TF_ASSIGN_OR_RETURN(all.emplace_back(), ReadVariable(handle));
  }
  const bool own_names = !names.empty();
  if (own_names && names.size() != all.size()) {
    return absl::InvalidArgumentError(absl::StrCat("names: expected none, or one for each of ",
                                                   all.size(), " variables, got ", names.size()));
  }
  if (all.empty()) return absl::InvalidArgumentError("variables: expected at least one");
  if (!own_names) {
    for (const Variable& variable : all) names.push_back(variable.name);
  }
  std::set<std::string> different;
  for (const std::string& name : names) {
    const std::vector<std::string> parts = absl::StrSplit(name, '/');
    const bool has_empty_part = absl::c_linear_search(parts, "");
    if (has_empty_part || !different.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "names: '", name, "' cannot name a variable of a checkpoint, or is listed twice"));
    }
  }
  NewNodes nodes(graph);
  const std::string scope = nodes.NewScope("saver");
  const auto scoped = [&](const std::string& name) { return absl::StrCat(scope, "/", name); };
  Saver saver;
  NodeDef* const prefix = nodes.Add(scoped("prefix"), "Placeholder");
  NewNodes::Set(prefix, "dtype", DT_STRING);
  NewNodes::Set(prefix, "shape", tensorflow::TensorShape());
  saver.prefix = prefix->name();

  std::vector<std::string> keys;
  for (const std::string& name : names) keys.push_back(Key(name));
  tensorflow::DataTypeVector types;
  for (const Variable& variable : all) types.push_back(variable.type);
  const std::string whole =
      nodes.Constant(scoped("whole"), Strings(std::vector<std::string>(names.size())));
  NodeDef* const read =
      nodes.Add(scoped("read"), "RestoreV2",
                {saver.prefix, nodes.Constant(scoped("names"), Strings(keys)), whole});
  NewNodes::Set(read, "dtypes", types);
  std::vector<std::string> assigns;
  keys.push_back(kObjectGraph);
  NodeDef* const save =
      nodes.Add(scoped("write"), "SaveV2",
                {saver.prefix, nodes.Constant(scoped("keys"), Strings(keys)),
                 nodes.Constant(scoped("whole"), Strings(std::vector<std::string>(keys.size())))});
  for (size_t k = 0; k < all.size(); ++k) {
    NodeDef* const value = nodes.Add(scoped("value"), "ReadVariableOp", {all[k].handle->name()});
    NewNodes::Set(value, "dtype", types[k]);
    save->add_input(value->name());
    NodeDef* const checked = nodes.Add(scoped("checked/" + names[k]), "EnsureShape",
                                       {absl::StrCat(read->name(), ":", k)});
    NewNodes::Set(checked, "T", types[k]);
    NewNodes::Set(checked, "shape", all[k].shape);
    NodeDef* const assign =
        nodes.Add(scoped("assign"), "AssignVariableOp", {all[k].handle->name(), checked->name()});
    NewNodes::Set(assign, "dtype", types[k]);
    assigns.push_back(assign->name());
  }
  save->add_input(nodes.Constant(scoped("objects"), String(ObjectGraph(names))));
  types.push_back(DT_STRING);
  NewNodes::Set(save, "dtypes", types);
  saver.save = nodes.Group(scoped("save"), {save->name()});
  saver.restore = nodes.Group(scoped("restore"), assigns);
  saver.nodes = nodes.Take(Graph(tensorflow::OpRegistry::Global()));
  return saver;
}

absl::StatusOr<Saver> MakeSaver(const void* graph_def, size_t length,
                                const std::vector<std::string>& variables,
                                std::vector<std::string> names) {
  Graph graph(tensorflow::OpRegistry::Global());
  TF_ASSIGN_OR_RETURN(const auto found,
                      ReadGraph(graph_def, length, "variables", variables, &graph));
  return MakeSaver(graph, found, std::move(names));
}

}  // namespace tensorflow_ext::train
