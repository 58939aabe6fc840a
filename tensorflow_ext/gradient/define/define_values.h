// A part of define.h: tensors, and how errors name things. Internal.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/types.h"

// Each library that includes this has its own copy, of its own version.
#pragma GCC visibility push(hidden)

namespace tensorflow_ext {
namespace define_internal {

using tensorflow::AttrValue;
using tensorflow::NodeDef;
using tensorflow::OpDef;
using Node = tensorflow::FunctionDefHelper::Node;

// A tensor, or a list of tensors, that a node may take.
struct Value {
  std::string endpoint;  // its name in a FunctionDef
  int node = -1;         // makes it; -1 for an argument of the function
  // A type, a list of types or a placeholder; unset if unknown.
  AttrValue type;
  bool is_list = false;
  bool has_types = false;    // `type` lists a type for each tensor
  bool is_constant = false;  // made by a Const
  // The size of any other list: a number or a placeholder; unset if unknown.
  AttrValue size;
};

inline bool IsSet(const AttrValue& value) { return value.value_case() != AttrValue::VALUE_NOT_SET; }

inline bool IsPlaceholder(const AttrValue& value) {
  return value.value_case() == AttrValue::kPlaceholder;
}

inline AttrValue Placeholder(const std::string& attribute) {
  AttrValue placeholder;
  placeholder.set_placeholder(attribute);
  return placeholder;
}

// True if all tensors have one type that is known, if only by name.
inline bool HasOneType(const Value& value) { return !value.has_types && IsSet(value.type); }

// "float", "$T".
inline std::string ToString(const AttrValue& type) {
  return IsPlaceholder(type) ? absl::StrCat("$", type.placeholder())
                             : tensorflow::DataTypeString(type.type());
}

inline bool IsListArgument(const OpDef::ArgDef& argument) {
  return !argument.number_attr().empty() || !argument.type_list_attr().empty();
}

// The value of an argument or output; `value_of` gives the values of attributes.
template <typename ValueOf>
Value MakeValue(const OpDef::ArgDef& argument, ValueOf value_of) {
  Value value;
  value.is_list = IsListArgument(argument);
  if (!argument.type_list_attr().empty()) {
    value.has_types = true;
    value.type = value_of(argument.type_list_attr());
    return value;
  }
  if (!argument.type_attr().empty()) {
    value.type = value_of(argument.type_attr());
  } else {
    value.type.set_type(argument.type());
  }
  if (value.is_list) value.size = value_of(argument.number_attr());
  return value;
}

// The number of tensors; -1 if unknown.
inline int64_t SizeOf(const Value& value) {
  if (!value.is_list) return 1;
  if (value.size.value_case() == AttrValue::kI) return value.size.i();
  if (value.type.value_case() == AttrValue::kList) {
    return value.type.list().type_size();
  }
  return -1;
}

// One tensor of a list.
inline Value Element(const Value& list, int64_t index) {
  Value element;
  element.endpoint = absl::StrCat(list.endpoint, ":", index);
  element.node = list.node;
  if (!list.has_types) {
    element.type = list.type;
  } else if (list.type.value_case() == AttrValue::kList) {
    element.type.set_type(list.type.list().type(index));
  }
  return element;
}

// ----- Wording of errors. -----

inline std::string NameOf(const Node& node) {
  if (!node.name.empty()) return node.name;
  return node.ret.empty() ? "" : node.ret[0];
}

template <typename... Parts>
absl::Status Error(const Parts&... what) {
  return absl::InvalidArgumentError(absl::StrCat("Define: ", what...));
}

template <typename... Parts>
absl::Status NodeError(const Node& node, const Parts&... what) {
  return Error("node '", NameOf(node), "' of op ", node.op, ": ", what...);
}

inline std::string Count(int64_t count, const std::string& what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// The names of arguments or attributes.
template <typename List>
std::string Names(const List& definitions) {
  std::vector<std::string> names;
  for (const auto& definition : definitions) names.push_back(definition.name());
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

}  // namespace define_internal
}  // namespace tensorflow_ext

#pragma GCC visibility pop
