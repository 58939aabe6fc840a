// A part of define.h: makes the function. Internal.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/op_def_builder.h"
#include "tensorflow/core/framework/op_def_util.h"
#include "tensorflow_ext/gradient/define/define_inputs.h"
#include "tensorflow_ext/gradient/define/define_values.h"

// Each library that includes this has its own copy, of its own version.
#pragma GCC visibility push(hidden)

namespace tensorflow_ext {
namespace define_internal {

class Definer {
 public:
  explicit Definer(absl::Span<const Node> nodes) : nodes_(nodes) {}

  absl::Status Run(absl::Span<const std::string> arguments, absl::Span<const std::string> results,
                   absl::Span<const std::string> attributes, tensorflow::FunctionDef* function) {
    TF_RETURN_IF_ERROR(SetSignature(arguments, results, attributes));
    made_.resize(nodes_.size());
    op_defs_.resize(nodes_.size());
    states_.resize(nodes_.size(), State::kNew);
    for (size_t i = 0; i < nodes_.size(); ++i) TF_RETURN_IF_ERROR(Declare(i));
    for (size_t i = 0; i < nodes_.size(); ++i) TF_RETURN_IF_ERROR(Visit(i));
    for (const OpDef::ArgDef& result : function_.signature().output_arg()) {
      TF_RETURN_IF_ERROR(Return(result));
    }
    *function = std::move(function_);
    return absl::OkStatus();
  }

 private:
  enum class State { kNew, kVisiting, kDone };

  absl::Status SetSignature(absl::Span<const std::string> arguments,
                            absl::Span<const std::string> results,
                            absl::Span<const std::string> attributes) {
    tensorflow::OpDefBuilder builder("_");  // as FunctionDefHelper, for no name
    for (const std::string& argument : arguments) builder.Input(argument);
    for (const std::string& result : results) builder.Output(result);
    for (const std::string& attribute : attributes) builder.Attr(attribute);
    tensorflow::OpRegistrationData data;
    const absl::Status status = builder.Finalize(&data);
    if (!status.ok()) {
      return Error("the arguments, results and attributes: ", status.message());
    }
    function_.mutable_signature()->Swap(&data.op_def);
    std::set<std::string> names;
    for (const OpDef::ArgDef& result : function_.signature().output_arg()) {
      if (names.insert(result.name()).second) continue;
      return Error("two results are named '", result.name(), "'");
    }
    for (const OpDef::ArgDef& argument : function_.signature().input_arg()) {
      Value value = MakeValue(argument, Placeholder);
      value.endpoint = argument.name();
      if (!values_.emplace(argument.name(), std::move(value)).second) {
        return Error("two arguments are named '", argument.name(), "'");
      }
    }
    return absl::OkStatus();
  }

  // Finds the op, reads its attributes, and names the outputs.
  absl::Status Declare(int index) {
    const Node& node = nodes_[index];
    if (NameOf(node).empty()) {
      return NodeError(node, "has no name; name the node or its outputs");
    }
    if (!node_indices_.emplace(NameOf(node), index).second) {
      return NodeError(node, "another node has this name");
    }
    if (!tensorflow::OpRegistry::Global()->LookUpOpDef(node.op, &op_defs_[index]).ok()) {
      return NodeError(node, "the op is not registered; load the library that ",
                       "has it, or correct the name");
    }
    const OpDef& op_def = *op_defs_[index];
    NodeDef& made = made_[index];
    made.set_name(NameOf(node));
    made.set_op(node.op);
    made.set_device(node.device);
    for (const auto& [name, value] : node.attr) {
      if (!made.mutable_attr()->insert({name, value.proto}).second) {
        return NodeError(node, "attribute '", name, "' is given twice");
      }
      TF_RETURN_IF_ERROR(CheckAttribute(node, op_def, name, value.proto));
    }
    if (op_def.is_stateful()) {
      function_.mutable_signature()->set_is_stateful(true);
    }
    return NameOutputs(index);
  }

  absl::Status CheckAttribute(const Node& node, const OpDef& op_def, const std::string& name,
                              const AttrValue& value) const {
    if (name.empty() || name[0] == '_') return absl::OkStatus();  // annotation
    const OpDef::AttrDef* attribute = tensorflow::FindAttr(name, op_def);
    if (attribute == nullptr) {
      return NodeError(node, "the op has no attribute '", name, "'; it has ", Names(op_def.attr()));
    }
    if (IsPlaceholder(value)) {
      return CheckPlaceholder(node, name, *attribute, value.placeholder());
    }
    const absl::Status status = tensorflow::ValidateAttrValue(value, *attribute);
    if (status.ok() || tensorflow::HasPlaceHolder(value)) {
      return absl::OkStatus();
    }
    return NodeError(node, "attribute '", name, "': ", status.message());
  }

  absl::Status CheckPlaceholder(const Node& node, const std::string& name,
                                const OpDef::AttrDef& attribute,
                                const std::string& placeholder) const {
    const OpDef& signature = function_.signature();
    const OpDef::AttrDef* own = tensorflow::FindAttr(placeholder, signature);
    if (own == nullptr) {
      return NodeError(node, "attribute '", name, "' is $", placeholder,
                       ", but the defined attributes are ", Names(signature.attr()));
    }
    if (own->type() == attribute.type()) return absl::OkStatus();
    return NodeError(node, "attribute '", name, "' is ", attribute.type(), ", but $", placeholder,
                     " is ", own->type());
  }

  // The known properties of an output so far.
  Value OutputOf(int index, const OpDef::ArgDef& output) const {
    Value value = MakeValue(output, [&](const std::string& attribute) {
      return AttributeOf(*op_defs_[index], made_[index], attribute);
    });
    value.node = index;
    value.is_constant = op_defs_[index]->name() == "Const";
    value.endpoint = absl::StrCat(made_[index].name(), ":", output.name());
    if (!value.is_list) value.endpoint += ":0";
    return value;
  }

  absl::Status NameOutputs(int index) {
    const Node& node = nodes_[index];
    const OpDef& op_def = *op_defs_[index];
    std::vector<std::string> endpoints;  // of its tensors, if known
    bool sizes_are_known = true;
    for (const OpDef::ArgDef& output : op_def.output_arg()) {
      const Value value = OutputOf(index, output);
      sizes_are_known = sizes_are_known && SizeOf(value) >= 0;
      for (int64_t i = 0; i < SizeOf(value); ++i) {
        endpoints.push_back(absl::StrCat(made_[index].name(), ":", output.name(), ":", i));
      }
    }
    const size_t names = node.ret.size();
    if (names == static_cast<size_t>(op_def.output_arg_size())) {
      endpoints.clear();
      for (const OpDef::ArgDef& output : op_def.output_arg()) {
        endpoints.push_back(OutputOf(index, output).endpoint);
      }
    } else if (op_def.output_arg_size() == 0 && names == 1) {
      return absl::OkStatus();  // the node's own name
    } else if (names != 0 && !(sizes_are_known && names == endpoints.size())) {
      return NodeError(node, "gives ", Count(names, "name"), ", but the op has ",
                       Count(op_def.output_arg_size(), "output"), ": ", Names(op_def.output_arg()));
    }
    for (size_t i = 0; i < names; ++i) {
      Value value;
      value.node = index;
      value.endpoint = endpoints[i];
      if (values_.count(node.ret[i]) > 0) {
        return NodeError(node, "an argument or another output is also named '", node.ret[i], "'");
      }
      values_[node.ret[i]] = std::move(value);
    }
    return absl::OkStatus();
  }

  // The value of that name. Visits the node that makes it first, so that its types are known.
  absl::StatusOr<std::optional<Value>> Find(const std::string& name) {
    auto found = values_.find(name);
    std::string endpoint = name;
    if (found != values_.end()) {
      if (found->second.node < 0) return found->second;
      endpoint = found->second.endpoint;
    }
    const std::vector<std::string> parts = absl::StrSplit(endpoint, ':');
    int64_t number = -1;
    const bool has_number = parts.size() > 1 && absl::SimpleAtoi(parts.back(), &number);
    if (has_number && number < 0) return std::nullopt;
    if (parts.size() == 2 && has_number) {
      found = values_.find(parts[0]);
      if (found == values_.end() || found->second.node >= 0 || !found->second.is_list) {
        return std::nullopt;
      }
      return Element(found->second, number);
    }
    const auto node = node_indices_.find(parts[0]);
    if (node == node_indices_.end() || parts.size() < 2 || parts.size() > 3 ||
        (parts.size() == 3 && !has_number)) {
      return std::nullopt;
    }
    TF_RETURN_IF_ERROR(Visit(node->second));
    for (const OpDef::ArgDef& output : op_defs_[node->second]->output_arg()) {
      if (output.name() != parts[1]) continue;
      const Value value = OutputOf(node->second, output);
      if (!has_number || (!value.is_list && number == 0)) return value;
      const int64_t size = SizeOf(value);
      if (size >= 0 && number >= size) return std::nullopt;
      return Element(value, number);
    }
    return std::nullopt;
  }

  // Adds the node to the function, after the nodes that it waits for.
  absl::Status Visit(int index) {
    if (states_[index] == State::kDone) return absl::OkStatus();
    const Node& node = nodes_[index];
    if (states_[index] == State::kVisiting) {
      std::vector<std::string> cycle;
      for (auto it = path_.rbegin(); it != path_.rend(); ++it) {
        cycle.push_back(NameOf(nodes_[*it]));
        if (*it == index) break;
      }
      return NodeError(node, "waits for itself, through ", absl::StrJoin(cycle, ", "), ": a cycle");
    }
    states_[index] = State::kVisiting;
    path_.push_back(index);
    std::vector<Value> inputs;
    for (const std::string& name : node.arg) {
      TF_ASSIGN_OR_RETURN(std::optional<Value> value, Find(name));
      if (!value) {
        return NodeError(node, "input '", name, "' is neither an argument nor ",
                         "an output of a node");
      }
      made_[index].add_input(value->endpoint);
      inputs.push_back(*std::move(value));
    }
    for (const std::string& name : node.dep) {
      const auto before = node_indices_.find(name);
      if (before == node_indices_.end()) {
        return NodeError(node, "must run after '", name, "', but no node has this name");
      }
      TF_RETURN_IF_ERROR(Visit(before->second));
      made_[index].add_input(absl::StrCat("^", name));
    }
    TF_RETURN_IF_ERROR(
        Inputs(function_.signature(), node, *op_defs_[index]).Connect(inputs, &made_[index]));
    path_.pop_back();
    states_[index] = State::kDone;
    *function_.add_node_def() = made_[index];
    return absl::OkStatus();
  }

  absl::Status Return(const OpDef::ArgDef& result) {
    const auto named = values_.find(result.name());
    if (named == values_.end()) {
      return Error("result '", result.name(), "' is neither an argument nor an output of a node");
    }
    TF_ASSIGN_OR_RETURN(const std::optional<Value> value, Find(result.name()));
    const Value declared = MakeValue(result, Placeholder);
    const std::string types = Disagreement(function_.signature(), declared, *value);
    if (!types.empty()) {
      return Error("result '", result.name(), "' has ", types);
    }
    (*function_.mutable_ret())[result.name()] = value->endpoint;
    return absl::OkStatus();
  }

  const absl::Span<const Node> nodes_;
  tensorflow::FunctionDef function_;
  // Arguments and outputs by name. An output has only its node and endpoint.
  std::map<std::string, Value> values_;
  std::map<std::string, int> node_indices_;
  // Indexed like the nodes.
  std::vector<const OpDef*> op_defs_;
  std::vector<NodeDef> made_;
  std::vector<State> states_;
  std::vector<int> path_;  // the nodes being visited
};

}  // namespace define_internal
}  // namespace tensorflow_ext

#pragma GCC visibility pop
