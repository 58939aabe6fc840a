#include <string>
#include <vector>

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/define/definition_parts.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

// The sum of gradients * CorrelationCost(a, b) is linear in each of the three. Its derivatives are
// the three ops, and so are theirs.

// The attributes of all three ops.
std::vector<std::string> CorrelationAttrDefs() {
  return {kFloatingT,      "kernel_size: int", "max_displacement: int",
          "stride_1: int", "stride_2: int",    "pad: int"};
}

// A node of one of them, with the attributes of the differentiated op.
FDH::Node Node(const std::string& op, const std::string& x, const std::string& y,
               const std::string& result) {
  return {{result},
          op,
          {x, y},
          AttrsOfOp({"T", "kernel_size", "max_displacement", "stride_1", "stride_2", "pad"})};
}

absl::Status CorrelationCostGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  *g = FDH::Define(
      // Arg defs
      {"a: T", "b: T", "dcosts: T"},
      // Ret val defs
      {"da: T", "db: T"},
      // Attr defs
      CorrelationAttrDefs(),
      // Nodes
      {Node("TfExt>CorrelationCostAGrad", "dcosts", "b", "da"),
       Node("TfExt>CorrelationCostBGrad", "dcosts", "a", "db")});
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>CorrelationCost", CorrelationCostGradient);

absl::Status CorrelationCostAGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "b: T", "dbackprops: T"},
      // Ret val defs
      {"dgradients: T", "db: T"},
      // Attr defs
      CorrelationAttrDefs(),
      // Nodes
      {Node("TfExt>CorrelationCost", "dbackprops", "b", "dgradients"),
       Node("TfExt>CorrelationCostBGrad", "gradients", "dbackprops", "db")});
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>CorrelationCostAGrad", CorrelationCostAGradGradient);

absl::Status CorrelationCostBGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "a: T", "dbackprops: T"},
      // Ret val defs
      {"dgradients: T", "da: T"},
      // Attr defs
      CorrelationAttrDefs(),
      // Nodes
      {Node("TfExt>CorrelationCost", "a", "dbackprops", "dgradients"),
       Node("TfExt>CorrelationCostAGrad", "gradients", "dbackprops", "da")});
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>CorrelationCostBGrad", CorrelationCostBGradGradient);

}  // namespace
}  // namespace tensorflow_ext
