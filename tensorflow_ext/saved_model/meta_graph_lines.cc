#include "tensorflow_ext/saved_model/meta_graph_lines.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/framework/variable.pb.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/protobuf/saved_object_graph.pb.h"
#include "tensorflow/core/protobuf/saver.pb.h"
#include "tensorflow_ext/saved_model/model_gradients.h"
#include "tensorflow_ext/saved_model/read_meta_graph.h"

namespace tensorflow_ext {
namespace {

using tensorflow::MetaGraphDef;
using tensorflow::NodeDef;
using tensorflow::SignatureDef;
using tensorflow::TensorInfo;

// TensorFlow initializes a model with these; its users do not need them.
constexpr const char* kInitializers[] = {"__saved_model_init_op", "__saved_model_train_op"};

std::string Shape(const tensorflow::TensorShapeProto& shape) {
  if (shape.unknown_rank()) return "unknown";
  return absl::StrCat(
      "[",
      absl::StrJoin(shape.dim(), ",",
                    [](std::string* out, const auto& dim) { absl::StrAppend(out, dim.size()); }),
      "]");
}

// The node of a tensor's name ("node", "node:1") or of a node's input, which may be a control input
// ("^node").
std::string NodeOf(absl::string_view name) {
  if (absl::StartsWith(name, "^")) name.remove_prefix(1);
  return std::string(name.substr(0, name.rfind(':')));
}

class Describer {
 public:
  explicit Describer(const MetaGraphDef& meta_graph) : meta_graph_(meta_graph) {
    for (const NodeDef& node : meta_graph.graph_def().node()) {
      nodes_[node.name()] = &node;
    }
  }

  absl::Status Run() {
    ReadTrainable();
    // Protobuf's maps are unordered.
    std::map<std::string, const SignatureDef*> signatures;
    for (const auto& [name, signature] : meta_graph_.signature_def()) {
      signatures[name] = &signature;
    }
    for (const char* name : kInitializers) signatures.erase(name);
    for (const auto& [name, signature] : signatures) {
      TF_RETURN_IF_ERROR(Signature(name, *signature));
    }
    TF_RETURN_IF_ERROR(Saver());
    return Gradients();
  }

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  absl::Status Line(const std::vector<std::string>& fields) {
    for (const std::string& field : fields) {
      if (field.find_first_of("\t\n\r") == std::string::npos) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the name '", field,
                       "' holds a tab or a line end, which separate the fields "
                       "of a line; export the model with another name"));
    }
    lines_.push_back(absl::StrJoin(fields, "\t"));
    return absl::OkStatus();
  }

  absl::Status Signature(const std::string& name, const SignatureDef& signature) {
    for (bool output : {false, true}) {
      const char* what = output ? "output" : "input";
      std::map<std::string, TensorInfo> tensors;
      for (const auto& [key, info] : output ? signature.outputs() : signature.inputs()) {
        AddTensors(key, info, &tensors);
      }
      std::set<std::string> reached;
      for (const auto& [key, info] : tensors) {
        TF_RETURN_IF_ERROR(
            Line({"signature", name, what, key, info.name(),
                  tensorflow::DataTypeString(info.dtype()), Shape(info.tensor_shape())}));
        if (!nodes_.count(NodeOf(info.name()))) {
          return absl::InvalidArgumentError(absl::StrCat(what, " '", key, "' of signature '", name,
                                                         "' is '", info.name(),
                                                         "', and the graph has no such node"));
        }
        if (output) Reach(NodeOf(info.name()), &reached);
      }
      TF_RETURN_IF_ERROR(Variables(name, reached));
    }
    return absl::OkStatus();
  }

  // The plain tensors of an input or output.
  void AddTensors(const std::string& key, const TensorInfo& info,
                  std::map<std::string, TensorInfo>* tensors) {
    if (info.has_coo_sparse()) {
      const TensorInfo::CooSparse& sparse = info.coo_sparse();
      for (const auto& [part, name, type] :
           {std::tuple<const char*, std::string, tensorflow::DataType>{
                "/values", sparse.values_tensor_name(), info.dtype()},
            {"/indices", sparse.indices_tensor_name(), tensorflow::DT_INT64},
            {"/dense_shape", sparse.dense_shape_tensor_name(), tensorflow::DT_INT64}}) {
        TensorInfo& tensor = (*tensors)[key + part];
        tensor.set_name(name);
        tensor.set_dtype(type);
        tensor.mutable_tensor_shape()->set_unknown_rank(true);
      }
    } else if (info.has_composite_tensor()) {
      int number = 0;
      for (const TensorInfo& part : info.composite_tensor().components()) {
        AddTensors(absl::StrCat(key, "/", number++), part, tensors);
      }
    } else {
      (*tensors)[key] = info;
    }
  }

  absl::Status Saver() {
    const tensorflow::SaverDef& saver = meta_graph_.saver_def();
    if (!saver.filename_tensor_name().empty()) {
      TF_RETURN_IF_ERROR(Line({"saver", "filename", saver.filename_tensor_name()}));
    }
    if (!saver.save_tensor_name().empty()) {
      TF_RETURN_IF_ERROR(Copies(NodeOf(saver.save_tensor_name())));
      TF_RETURN_IF_ERROR(Line({"saver", "save", saver.save_tensor_name()}));
    }
    if (!saver.restore_op_name().empty()) {
      TF_RETURN_IF_ERROR(Line({"saver", "restore", saver.restore_op_name()}));
    }
    return absl::OkStatus();
  }

  absl::Status Gradients() {
    TF_ASSIGN_OR_RETURN(const ModelGradients found, FindModelGradients(meta_graph_));
    for (const auto& [function, gradients] : found.gradients) {
      for (const ModelGradients::Gradient& gradient : gradients) {
        TF_RETURN_IF_ERROR(Line({"gradient", function, gradient.node, gradient.op_type,
                                 gradient.problem.empty() ? "present" : "missing"}));
      }
    }
    return absl::OkStatus();
  }

  // Adds the nodes that copy a signature's variable to a variable that `save` writes.
  absl::Status Copies(const std::string& save) {
    std::set<std::string> saved;
    Reach(save, &saved);
    for (const NodeDef& node : meta_graph_.graph_def().node()) {
      if (node.op() != "AssignVariableOp" || node.input_size() < 2 ||
          !saved.count(NodeOf(node.input(0)))) {
        continue;
      }
      const auto read = nodes_.find(NodeOf(node.input(1)));
      if (read != nodes_.end() && read->second->op() == "ReadVariableOp" &&
          read->second->input_size() > 0 && of_signatures_.count(NodeOf(read->second->input(0)))) {
        TF_RETURN_IF_ERROR(Line({"saver", "copy", node.name()}));
      }
    }
    return absl::OkStatus();
  }

  // Adds `node` and everything that it depends on.
  void Reach(const std::string& node, std::set<std::string>* reached) {
    std::vector<std::string> pending = {node};
    while (!pending.empty()) {
      std::string name = pending.back();
      pending.pop_back();
      auto found = nodes_.find(name);
      if (found == nodes_.end() || !reached->insert(name).second) continue;
      for (const std::string& input : found->second->input()) {
        pending.push_back(NodeOf(input));
      }
    }
  }

  absl::Status Variables(const std::string& signature, const std::set<std::string>& reached) {
    for (const NodeDef& node : meta_graph_.graph_def().node()) {
      if (node.op() != "VarHandleOp" || !reached.count(node.name())) continue;
      tensorflow::DataType type;
      tensorflow::TensorShapeProto shape;
      TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node, "dtype", &type));
      TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node, "shape", &shape));
      of_signatures_.insert(node.name());
      auto trainable = trainable_.find(node.name());
      TF_RETURN_IF_ERROR(Line({"signature", signature, "variable", node.name(),
                               tensorflow::DataTypeString(type), Shape(shape),
                               trainable == trainable_.end() ? "unknown"
                               : trainable->second           ? "trainable"
                                                             : "fixed"}));
    }
    return absl::OkStatus();
  }

  // The variables of Keras layers with trainable=False, which TensorFlow's own mark does not know:
  // a Keras object has lists of all its variables and of those that it trains.
  std::set<int> FrozenByKeras() const {
    const auto& objects = meta_graph_.object_graph_def().nodes();
    std::set<int> frozen;
    for (const tensorflow::SavedObject& object : objects) {
      const auto list = [&object, &objects](absl::string_view name) {
        std::optional<std::set<int>> members;
        for (const auto& child : object.children()) {
          if (child.local_name() != name || child.node_id() >= objects.size()) continue;
          members.emplace();
          for (const auto& member : objects[child.node_id()].children()) {
            members->insert(member.node_id());
          }
        }
        return members;
      };
      const auto all = list("variables"), trained = list("trainable_variables");
      if (!all || !trained) continue;
      std::set_difference(all->begin(), all->end(), trained->begin(), trained->end(),
                          std::inserter(frozen, frozen.end()));
    }
    return frozen;
  }

  // Finds the trainable variables. TensorFlow 2 marks saved objects; the last inputs of a call are
  // the objects that its function captured. TensorFlow 1 marks names.
  void ReadTrainable() {
    const tensorflow::SavedObjectGraph& objects = meta_graph_.object_graph_def();
    const std::set<int> frozen = FrozenByKeras();
    for (const NodeDef& node : meta_graph_.graph_def().node()) {
      auto attribute = node.attr().find("f");
      if (attribute == node.attr().end()) continue;
      auto function = objects.concrete_functions().find(attribute->second.func().name());
      if (function == objects.concrete_functions().end()) continue;
      const auto& captured = function->second.bound_inputs();
      const int inputs = NumDataInputs(node);
      for (int i = 0; i < captured.size(); ++i) {
        const int input = inputs - captured.size() + i;
        if (input < 0 || captured[i] < 0 || captured[i] >= objects.nodes_size()) {
          continue;
        }
        const tensorflow::SavedObject& object = objects.nodes(captured[i]);
        if (!object.has_variable()) continue;
        trainable_[NodeOf(node.input(input))] =
            object.variable().trainable() && frozen.count(captured[i]) == 0;
      }
    }
    for (const char* name : {"variables", "trainable_variables"}) {
      auto collection = meta_graph_.collection_def().find(name);
      if (collection == meta_graph_.collection_def().end()) continue;
      for (const std::string& bytes : collection->second.bytes_list().value()) {
        tensorflow::VariableDef variable;
        if (!variable.ParseFromString(bytes)) continue;
        trainable_[NodeOf(variable.variable_name())] = variable.trainable();
      }
    }
  }

  const MetaGraphDef& meta_graph_;
  std::map<std::string, const NodeDef*> nodes_;
  std::map<std::string, bool> trainable_;
  std::set<std::string> of_signatures_;  // listed variables
  std::vector<std::string> lines_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> MetaGraphLines(const MetaGraphDef& meta_graph) {
  Describer describer(meta_graph);
  TF_RETURN_IF_ERROR(describer.Run());
  return describer.lines();
}

}  // namespace tensorflow_ext
