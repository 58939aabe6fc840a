#include "tensorflow_ext/gradient/define/node_attributes.h"

#include "tensorflow/core/framework/attr_value_util.h"

namespace tensorflow_ext {

using tensorflow::NodeDef;
using tensorflow::OpDef;

bool IsAnnotation(const std::string& attribute) {
  return !attribute.empty() && attribute[0] == '_';
}

NodeDef MakeNodeDef(const std::string& op, const tensorflow::AttrSlice& attrs) {
  NodeDef node;
  node.set_op(op);
  for (const auto& [name, value] : attrs) {
    (*node.mutable_attr())[name] = value;
  }
  return node;
}

NodeDef OpAndAttributes(const NodeDef& node) {
  NodeDef result;
  result.set_op(node.op());
  for (const auto& [name, value] : node.attr()) {
    if (!IsAnnotation(name)) (*result.mutable_attr())[name] = value;
  }
  return result;
}

bool SameAttributes(const NodeDef& a, const NodeDef& b) {
  int only_in_b = 0;
  for (const auto& [name, value] : b.attr()) only_in_b += !IsAnnotation(name);
  for (const auto& [name, value] : a.attr()) {
    if (IsAnnotation(name)) continue;
    const auto found = b.attr().find(name);
    if (found == b.attr().end() || !tensorflow::AreAttrValuesEqual(value, found->second)) {
      return false;
    }
    --only_in_b;
  }
  return only_in_b == 0;
}

bool IsList(const OpDef::ArgDef& argument) {
  return !argument.number_attr().empty() || !argument.type_list_attr().empty();
}

int SizeOf(const OpDef::ArgDef& argument, const NodeDef& node) {
  if (!argument.number_attr().empty()) {
    return node.attr().at(argument.number_attr()).i();
  }
  if (!argument.type_list_attr().empty()) {
    return node.attr().at(argument.type_list_attr()).list().type_size();
  }
  return 1;
}

}  // namespace tensorflow_ext
