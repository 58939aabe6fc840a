// A part of define.h: the inputs of a node. Internal.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/op_def_util.h"
#include "tensorflow_ext/gradient/define/define_values.h"

// Each library that includes this has its own copy, of its own version.
#pragma GCC visibility push(hidden)

namespace tensorflow_ext {
namespace define_internal {

// The value of an attribute of a node; unset if unknown.
inline AttrValue AttributeOf(const OpDef& op_def, const NodeDef& node, const std::string& name) {
  const auto found = node.attr().find(name);
  if (found != node.attr().end()) return found->second;
  const OpDef::AttrDef* attribute = tensorflow::FindAttr(name, op_def);
  return attribute == nullptr ? AttrValue() : attribute->default_value();
}

// "type float where $T is expected" if `found` certainly has another type than `expected`;
// otherwise empty. `signature`: the function's.
inline std::string Disagreement(const OpDef& signature, const Value& expected, const Value& found) {
  if (!HasOneType(expected) || !HasOneType(found)) return "";
  const AttrValue &a = expected.type, &b = found.type;
  if (IsPlaceholder(a) && IsPlaceholder(b)) return "";
  if (!IsPlaceholder(a) && !IsPlaceholder(b)) {
    if (a.type() == b.type()) return "";
  } else {
    const AttrValue& open = IsPlaceholder(a) ? a : b;
    const int fixed = (IsPlaceholder(a) ? b : a).type();
    const OpDef::AttrDef* attribute = tensorflow::FindAttr(open.placeholder(), signature);
    if (attribute == nullptr || !attribute->has_allowed_values()) return "";
    const auto& allowed = attribute->allowed_values().list().type();
    if (std::all_of(allowed.begin(), allowed.end(),
                    [fixed](int other) { return other == fixed; })) {
      return "";
    }
  }
  return absl::StrCat("type ", ToString(b), " where ", ToString(a), " is expected");
}

// The inputs of one node.
class Inputs {
 public:
  // All must outlive this object. `signature`: the function's.
  Inputs(const OpDef& signature, const Node& node, const OpDef& op_def)
      : signature_(signature), node_(node), op_def_(op_def) {}

  // Checks the inputs, and sets the attributes of `made` that follow from them.
  absl::Status Connect(absl::Span<const Value> inputs, NodeDef* made) const {
    size_t next = 0;
    int arguments_left = op_def_.input_arg_size();
    for (const OpDef::ArgDef& argument : op_def_.input_arg()) {
      --arguments_left;
      // Defaults are ignored, because the inputs are more specific.
      const Value expected = MakeValue(argument, [&](const std::string& name) {
        const auto found = made->attr().find(name);
        return found == made->attr().end() ? AttrValue() : found->second;
      });
      const size_t begin = next;
      next += CountOf(expected, inputs.subspan(begin), arguments_left);
      if (next > inputs.size()) return WrongNumber(inputs.size());
      for (size_t i = begin; i < next; ++i) {
        TF_RETURN_IF_ERROR(CheckInput(i, argument, expected, inputs[i], i - begin));
      }
      Infer(argument, inputs.subspan(begin, next - begin), made);
    }
    if (next != inputs.size()) return WrongNumber(inputs.size());
    for (const OpDef::AttrDef& attribute : op_def_.attr()) {
      if (IsSet(AttributeOf(op_def_, *made, attribute.name()))) continue;
      return NodeError(node_, "attribute '", attribute.name(),
                       "' is missing, and no input determines it");
    }
    return absl::OkStatus();
  }

 private:
  // The number of `inputs` that belong to an argument of the op, with `left` arguments after it.
  static size_t CountOf(const Value& expected, absl::Span<const Value> inputs, size_t left) {
    if (!expected.is_list) return 1;
    const int64_t size = SizeOf(expected);
    if (size < 0) {
      if (!inputs.empty() && inputs[0].is_list) return 1;
      return inputs.size() - std::min(left, inputs.size());
    }
    size_t count = 0;
    for (int64_t taken = 0; taken < size && count < inputs.size(); ++count) {
      // A list of unknown size takes everything that is missing.
      const int64_t more = SizeOf(inputs[count]);
      taken = more < 0 ? size : taken + more;
    }
    return count;
  }

  absl::Status WrongNumber(size_t found) const {
    return NodeError(node_, "is given ", Count(found, "input"),
                     ", but the op's inputs are: ", Names(op_def_.input_arg()));
  }

  absl::Status CheckInput(int position, const OpDef::ArgDef& argument, const Value& expected,
                          const Value& input, int element) const {
    const std::string& name = node_.arg[position];
    if (input.is_list && !expected.is_list && SizeOf(input) != 1) {
      return NodeError(node_, "input ", position, ", '", name, "', is a list, but the op's '",
                       argument.name(), "' is one tensor; name a tensor of the list, such as '",
                       input.endpoint, ":0'");
    }
    const bool is_known = expected.has_types && element < SizeOf(expected);
    const std::string types =
        Disagreement(signature_, is_known ? Element(expected, element) : expected, input);
    if (types.empty()) return absl::OkStatus();
    const std::string hint = input.is_constant ? absl::StrCat(
                                                     ". A constant has one type; add a Cast after "
                                                     "it: {{\"scalar\"}, \"Cast\", {\"",
                                                     name, "\"}, {{\"DstT\", \"$T\"}}}")
                                               : "";
    return NodeError(node_, "input ", position, ", '", name, "', has ", types, hint);
  }

  static void Infer(const OpDef::ArgDef& argument, absl::Span<const Value> inputs, NodeDef* made) {
    if (!argument.type_list_attr().empty()) {
      return Set(argument.type_list_attr(), TypesOf(inputs), made);
    }
    if (inputs.empty()) return;
    if (HasOneType(inputs[0])) {
      Set(argument.type_attr(), inputs[0].type, made);
    }
    AttrValue number;
    if (inputs.size() == 1 && SizeOf(inputs[0]) < 0) {
      number = inputs[0].size;
    } else {
      number.set_i(0);
      for (const Value& input : inputs) {
        if (SizeOf(input) < 0) return;
        number.set_i(number.i() + SizeOf(input));
      }
    }
    Set(argument.number_attr(), number, made);
  }

  // The types of some inputs, one by one; unset if unknown.
  static AttrValue TypesOf(absl::Span<const Value> inputs) {
    AttrValue types;
    types.mutable_list();
    for (const Value& input : inputs) {
      if (input.has_types) {
        return inputs.size() == 1 ? input.type : AttrValue();
      }
      if (SizeOf(input) < 0 || input.type.value_case() != AttrValue::kType) {
        return AttrValue();
      }
      for (int64_t i = 0; i < SizeOf(input); ++i) {
        types.mutable_list()->add_type(input.type.type());
      }
    }
    return types;
  }

  // Sets an attribute that is not set yet.
  static void Set(const std::string& name, const AttrValue& value, NodeDef* made) {
    if (!name.empty() && IsSet(value)) {
      made->mutable_attr()->insert({name, value});
    }
  }

  const OpDef& signature_;
  const Node& node_;
  const OpDef& op_def_;
};

}  // namespace define_internal
}  // namespace tensorflow_ext

#pragma GCC visibility pop
