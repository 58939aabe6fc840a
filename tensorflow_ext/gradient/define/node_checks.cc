#include "tensorflow_ext/gradient/define/node_checks.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/types.h"

namespace tensorflow_ext {

using tensorflow::AttrValue;
using tensorflow::DataType;
using tensorflow::DataTypeString;
using tensorflow::DataTypeVector;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;
using tensorflow::OpDef;
using tensorflow::OpRegistry;

namespace {

// "T, scale", sorted.
std::string AttributesOf(const NodeDef& node) {
  std::vector<std::string> names;
  for (const auto& [name, value] : node.attr()) names.push_back(name);
  if (names.empty()) return "none";
  std::sort(names.begin(), names.end());
  return absl::StrJoin(names, ", ");
}

// "T=double, Tidx=int32": the types that the op was given.
std::string TypesOf(const NodeDef& node) {
  std::vector<std::string> types;
  for (const auto& [name, value] : node.attr()) {
    if (value.value_case() != AttrValue::kType) continue;
    types.push_back(absl::StrCat(name, "=", DataTypeString(value.type())));
  }
  std::sort(types.begin(), types.end());
  return absl::StrJoin(types, ", ");
}

class Checker {
 public:
  Checker(const NodeDef& forward, const FunctionDef& function)
      : forward_(forward), function_(function) {}

  absl::Status Run() {
    TF_RETURN_IF_ERROR(CheckSignature());
    for (const NodeDef& node : function_.node_def()) {
      TF_RETURN_IF_ERROR(AddNode(node));
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      TF_RETURN_IF_ERROR(CheckInputs(nodes_[i]));
    }
    return absl::OkStatus();
  }

 private:
  struct Node {
    NodeDef bound;  // without placeholders
    const OpDef* op_def;
    DataTypeVector inputs;
  };
  struct Tensors {
    DataTypeVector types;
    int node = -1;  // -1 for an argument of the function
  };

  static absl::Status Error(const NodeDef& node, absl::string_view what) {
    return absl::FailedPreconditionError(
        absl::StrCat("node '", node.name(), "' of op ", node.op(), ": ", what));
  }

  absl::Status CheckSignature() {
    const OpDef& signature = function_.signature();
    for (const OpDef::AttrDef& attr : signature.attr()) {
      if (forward_.attr().contains(attr.name())) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("the definition has an attribute '", attr.name(), "', which ", forward_.op(),
                       " does not have; it has ", AttributesOf(forward_)));
    }
    for (const OpDef::ArgDef& arg : signature.input_arg()) {
      DataTypeVector types;
      if (!AppendTypes(arg, forward_, &types)) continue;
      if (tensors_.count(arg.name()) > 0) {
        return absl::FailedPreconditionError(
            absl::StrCat("two arguments are named '", arg.name(), "'"));
      }
      tensors_[arg.name()].types = types;
      for (size_t i = 0; i < types.size(); ++i) {
        tensors_[absl::StrCat(arg.name(), ":", i)].types = {types[i]};
      }
    }
    return absl::OkStatus();
  }

  // Adds the types of an argument; false if `node` does not give them.
  static bool AppendTypes(const OpDef::ArgDef& arg, const NodeDef& node, DataTypeVector* types) {
    const auto& attr = node.attr();
    if (!arg.type_list_attr().empty()) {
      const auto found = attr.find(arg.type_list_attr());
      if (found == attr.end()) return false;
      for (int type : found->second.list().type()) {
        types->push_back(static_cast<DataType>(type));
      }
      return true;
    }
    DataType type = arg.type();
    if (!arg.type_attr().empty()) {
      const auto found = attr.find(arg.type_attr());
      if (found == attr.end()) return false;
      type = found->second.type();
    }
    int64_t count = 1;
    if (!arg.number_attr().empty()) {
      const auto found = attr.find(arg.number_attr());
      if (found == attr.end()) return false;
      count = found->second.i();
    }
    types->insert(types->end(), std::max<int64_t>(count, 0), type);
    return true;
  }

  absl::Status AddNode(const NodeDef& node) {
    Node added;
    // TensorFlow's message for an unknown op advises on graphs.
    if (!OpRegistry::Global()->LookUpOpDef(node.op(), &added.op_def).ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "node '", node.name(), "' is of op ", node.op(),
          ", which is not registered; load the library that has it or ", "correct the name"));
    }
    added.bound = node;
    for (auto& [name, value] : *added.bound.mutable_attr()) {
      std::string unknown;
      const auto substitute = [&](const std::string& placeholder, AttrValue* result) {
        const auto found = forward_.attr().find(placeholder);
        if (found == forward_.attr().end()) {
          unknown = placeholder;
          return false;
        }
        *result = found->second;
        return true;
      };
      if (tensorflow::SubstitutePlaceholders(substitute, &value)) continue;
      return Error(
          node, absl::StrCat("attribute '", name, "' is $", unknown, ", but ", forward_.op(),
                             " has no attribute '", unknown, "'; it has ", AttributesOf(forward_)));
    }
    tensorflow::AddDefaultsToNodeDef(*added.op_def, &added.bound);
    DataTypeVector outputs;
    const absl::Status status =
        tensorflow::InOutTypesForNode(added.bound, *added.op_def, &added.inputs, &outputs);
    if (!status.ok()) return Error(node, status.message());
    AddOutputs(added);
    nodes_.push_back(std::move(added));
    return absl::OkStatus();
  }

  void AddOutputs(const Node& node) {
    for (const OpDef::ArgDef& arg : node.op_def->output_arg()) {
      Tensors list;
      if (!AppendTypes(arg, node.bound, &list.types)) return;
      list.node = nodes_.size();
      const std::string name = absl::StrCat(node.bound.name(), ":", arg.name());
      for (size_t i = 0; i < list.types.size(); ++i) {
        tensors_[absl::StrCat(name, ":", i)] = {{list.types[i]}, list.node};
      }
      tensors_[name] = std::move(list);
    }
  }

  absl::Status CheckInputs(const Node& node) const {
    size_t position = 0;
    for (const std::string& input : node.bound.input()) {
      if (!input.empty() && input[0] == '^') continue;
      const auto found = tensors_.find(input);
      if (found == tensors_.end()) {
        return Error(node.bound,
                     absl::StrCat("input '", input, "' is neither an argument of the function ",
                                  "nor an output of one of its nodes"));
      }
      for (DataType type : found->second.types) {
        if (position < node.inputs.size() && type != node.inputs[position]) {
          return WrongType(node, position, input, found->second, type);
        }
        ++position;
      }
    }
    if (position == node.inputs.size()) return absl::OkStatus();
    return Error(node.bound, absl::StrCat("has ", position, position == 1 ? " input" : " inputs",
                                          " where ", node.inputs.size(),
                                          node.inputs.size() == 1 ? " is" : " are", " expected"));
  }

  absl::Status WrongType(const Node& node, int position, const std::string& input,
                         const Tensors& tensors, DataType type) const {
    const std::string types = TypesOf(forward_);
    std::string what =
        absl::StrCat("input ", position, ", '", input, "', has type ", DataTypeString(type),
                     " where ", DataTypeString(node.inputs[position]), " is expected");
    if (!types.empty()) absl::StrAppend(&what, " (", types, ")");
    if (tensors.node >= 0 && nodes_[tensors.node].bound.op() == "Const") {
      const std::string& constant = nodes_[tensors.node].bound.name();
      absl::StrAppend(&what, ". '", constant, "' is a constant of one type: add a Cast to ",
                      "the type that the node takes ({{\"", constant, "_cast\"}, \"Cast\", {\"",
                      constant, "\"}, {{\"SrcT\", DT_", absl::AsciiStrToUpper(DataTypeString(type)),
                      "}, {\"DstT\", \"$T\"}}}), or write the gradient as a formula, ",
                      "whose numbers take the type of the values that they meet");
    }
    return Error(node.bound, what);
  }

  const NodeDef& forward_;
  const FunctionDef& function_;
  std::vector<Node> nodes_;
  // Keyed by the names that nodes use for inputs.
  std::unordered_map<std::string, Tensors> tensors_;
};

}  // namespace

absl::Status CheckNodes(const NodeDef& forward, const FunctionDef& function) {
  return Checker(forward, function).Run();
}

}  // namespace tensorflow_ext
