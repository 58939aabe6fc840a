#include "tensorflow_ext/gradient/plan/check_definition.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow_ext/gradient/define/definition.h"
#include "tensorflow_ext/gradient/plan/plan.h"
#include "tensorflow_ext/gradient/registry/function_registry.h"

namespace tensorflow_ext {

using tensorflow::AttrValue;
using tensorflow::NodeDef;
using tensorflow::OpDef;

namespace {

constexpr int64_t kMaxCombinations = 2000;

// An attribute and the values to try.
struct Choice {
  std::string name;
  std::vector<AttrValue> values;
};

std::vector<tensorflow::DataType> TypesToTry(const OpDef::AttrDef& attribute) {
  if (!attribute.has_allowed_values()) {
    return {tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE, tensorflow::DT_COMPLEX64,
            tensorflow::DT_INT32};
  }
  std::vector<tensorflow::DataType> types;
  for (int type : attribute.allowed_values().list().type()) {
    types.push_back(static_cast<tensorflow::DataType>(type));
  }
  return types;
}

// True if the attribute is the length of a list of inputs or outputs.
bool IsLength(const OpDef& op_def, const OpDef::AttrDef& attribute) {
  const auto has_this_length = [&](const OpDef::ArgDef& argument) {
    return argument.number_attr() == attribute.name();
  };
  return absl::c_any_of(op_def.input_arg(), has_this_length) ||
         absl::c_any_of(op_def.output_arg(), has_this_length);
}

// The values to try for an attribute that was not given; empty for its default.
absl::StatusOr<std::vector<AttrValue>> ValuesToTry(const OpDef& op_def,
                                                   const OpDef::AttrDef& attribute) {
  std::vector<AttrValue> values;
  const std::string& kind = attribute.type();
  if (kind == "type") {
    for (tensorflow::DataType type : TypesToTry(attribute)) {
      values.emplace_back().set_type(type);
    }
    return values;
  }
  if (attribute.has_default_value()) return values;
  if (kind == "list(type)") {
    for (tensorflow::DataType type : TypesToTry(attribute)) {
      auto* list = values.emplace_back().mutable_list();
      for (int i = 0; i < std::max<int64_t>(2, attribute.minimum()); ++i) {
        list->add_type(type);
      }
    }
  } else if (kind == "int") {
    const int64_t least = attribute.has_minimum() ? attribute.minimum() : 1;
    values.emplace_back().set_i(least);
    if (IsLength(op_def, attribute)) values.emplace_back().set_i(least + 1);
  } else if (kind == "float") {
    values.emplace_back().set_f(1);
  } else if (kind == "bool") {
    values.emplace_back().set_b(false);
  } else if (kind == "shape") {
    values.emplace_back().mutable_shape()->set_unknown_rank(true);
  } else if (kind == "string" && attribute.has_allowed_values()) {
    values.emplace_back().set_s(attribute.allowed_values().list().s(0));
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "The gradient of ", op_def.name(), " cannot be checked without a value of '",
        attribute.name(), "', of kind ", kind, ", which has no default; ", "give one"));
  }
  return values;
}

// The nodes to check.
std::vector<NodeDef> Combinations(const NodeDef& first, const std::vector<Choice>& choices) {
  int64_t count = 1;
  for (const Choice& choice : choices) {
    count = std::min<int64_t>(count * choice.values.size(), kMaxCombinations);
  }
  std::vector<NodeDef> nodes = {first};
  for (const Choice& choice : choices) {
    const size_t before = count < kMaxCombinations ? nodes.size() : 1;
    for (size_t i = 0; i < before; ++i) {
      for (size_t v = 1; v < choice.values.size(); ++v) {
        NodeDef node = nodes[i];
        (*node.mutable_attr())[choice.name] = choice.values[v];
        nodes.push_back(std::move(node));
      }
    }
  }
  return nodes;
}

// "T=double, N=2, U=2 * float".
std::string Describe(const NodeDef& node, const std::vector<Choice>& choices) {
  std::vector<std::string> parts;
  for (const Choice& choice : choices) {
    const AttrValue& value = node.attr().at(choice.name);
    if (value.value_case() == AttrValue::kType) {
      parts.push_back(absl::StrCat(choice.name, "=", tensorflow::DataTypeString(value.type())));
    } else if (value.value_case() == AttrValue::kI) {
      parts.push_back(absl::StrCat(choice.name, "=", value.i()));
    } else if (value.list().type_size() > 0) {
      const auto type = static_cast<tensorflow::DataType>(value.list().type(0));
      parts.push_back(absl::StrCat(choice.name, "=", value.list().type_size(), " * ",
                                   tensorflow::DataTypeString(type)));
    }
  }
  return parts.empty() ? "its attributes" : absl::StrJoin(parts, ", ");
}

// The status of one combination. FindPlan gives it and keeps the plan.
absl::Status CheckOne(const NodeDef& node) {
  TF_ASSIGN_OR_RETURN(const Forward forward, FindForward(node));
  for (size_t i = 0; i < forward.input_types.size(); ++i) {
    if (!IsWanted(forward, {}, i)) continue;
    TF_ASSIGN_OR_RETURN(const Definition definition, FindDefinition(forward));
    return MakePlan(definition, {}).status();
  }
  return absl::OkStatus();  // only integers: no client asks
}

}  // namespace

absl::Status CheckDefinition(const NodeDef& node) {
  const OpDef* op_def = nullptr;
  if (!tensorflow::OpRegistry::Global()->LookUpOpDef(node.op(), &op_def).ok()) {
    return FindForward(node).status();
  }
  if (!FindCreator(node.op())) {
    return absl::NotFoundError(absl::StrCat("Op ", node.op(), " has no gradient to check"));
  }
  NodeDef first = node;
  std::vector<Choice> choices;
  for (const OpDef::AttrDef& attribute : op_def->attr()) {
    if (node.attr().contains(attribute.name())) continue;
    TF_ASSIGN_OR_RETURN(std::vector<AttrValue> values, ValuesToTry(*op_def, attribute));
    if (values.empty()) continue;
    (*first.mutable_attr())[attribute.name()] = values[0];
    choices.push_back({attribute.name(), std::move(values)});
  }
  const std::vector<NodeDef> nodes = Combinations(first, choices);
  absl::Status wrong, refused;
  std::string types;
  std::vector<std::string> others;
  size_t num_refused = 0;
  for (const NodeDef& one : nodes) {
    const absl::Status status = CheckOne(one);
    if (absl::IsUnimplemented(status)) {
      refused = status;
      ++num_refused;
    } else if (!status.ok() && wrong.ok()) {
      wrong = status;
      types = Describe(one, choices);
    } else if (!status.ok()) {
      others.push_back(Describe(one, choices));
    }
  }
  if (wrong.ok()) {
    return num_refused == nodes.size() ? refused : absl::OkStatus();
  }
  std::string more;
  if (!others.empty()) {
    const size_t shown = std::min<size_t>(others.size(), 8);
    more = absl::StrCat(" (", others.size(), " other combinations of ", nodes.size(),
                        " also fail: ", absl::StrJoin(others.begin(), others.begin() + shown, "; "),
                        shown < others.size() ? "; ..." : "", ")");
  }
  return absl::Status(wrong.code(), absl::StrCat("With ", types, ": ", wrong.message(), more));
}

}  // namespace tensorflow_ext
