// tensorflow_ext::Define without the rest of this library: the functions that it writes, and its
// message for each mistake.

#include "tensorflow_ext/gradient/define.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tests/cc/check.h"

namespace {

using tensorflow::DT_DOUBLE;
using tensorflow::DT_FLOAT;
using tensorflow::DT_INT32;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;
using tensorflow_ext::Check;
using tensorflow_ext::Define;
using FDH = tensorflow::FunctionDefHelper;
using Nodes = std::vector<FDH::Node>;
using Strings = std::vector<std::string>;

struct Table {
  Strings arguments = {"x: T", "dy: T"};
  Strings results = {"dx: T"};
  Strings attributes = {"T: {float, double}"};
  Nodes nodes;
};

absl::Status Write(const Table& table, FunctionDef* function) {
  return Define(table.arguments, table.results, table.attributes, table.nodes, function);
}

FunctionDef Written(const Table& table, const std::string& what) {
  FunctionDef function;
  const absl::Status status = Write(table, &function);
  Check(status.ok(), what + ": " + status.ToString());
  return function;
}

// The only node of this name.
NodeDef Find(const FunctionDef& function, const std::string& name) {
  for (const NodeDef& node : function.node_def()) {
    if (node.name() == name) return node;
  }
  Check(false, "there is no node " + name);
  return {};
}

void CheckInputs(const NodeDef& node, const Strings& expected) {
  const Strings found(node.input().begin(), node.input().end());
  Check(found == expected, node.name() + " has other inputs: " + node.ShortDebugString());
}

// Checks that TensorFlow accepts the function with these attributes.
void CheckInstantiates(const FunctionDef& function,
                       const std::vector<std::pair<std::string, FDH::AttrValueWrapper>>& attrs) {
  NodeDef node;
  for (const auto& [name, value] : attrs) {
    (*node.mutable_attr())[name] = value.proto;
  }
  tensorflow::InstantiationResult instance;
  const absl::Status status = tensorflow::InstantiateFunction(
      function, tensorflow::AttrSlice(node),
      [](const std::string& name, const tensorflow::OpDef** op_def) {
        return tensorflow::OpRegistry::Global()->LookUpOpDef(name, op_def);
      },
      &instance);
  Check(status.ok(), status.ToString());
}

void SameAsFunctionDefHelper() {
  const Table table = {
      {"x: T", "axes: Tidx", "dy: T"},
      {"dx: T", "daxes: Tidx"},
      {"T: {float, double}", "Tidx: {int32, int64} = DT_INT32"},
      {
          FDH::Const("one", 1.0f),
          {{"unit"}, "Cast", {"one"}, {{"SrcT", DT_FLOAT}, {"DstT", "$T"}}},
          {{"more"}, "AddV2", {"x", "unit"}, {{"T", "$T"}}},
          {{"kept", "place"}, "Unique", {"axes"}, {{"T", "$Tidx"}, {"out_idx", DT_INT32}}},
          {{"dx"}, "Mul", {"dy", "more"}, {{"T", "$T"}}, {"kept"}},
          {{"daxes"}, "ZerosLike", {"kept"}, {{"T", "$Tidx"}}},
      }};
  const FunctionDef expected =
      FDH::Define(table.arguments, table.results, table.attributes, table.nodes);
  const FunctionDef found = Written(table, "the table");
  Check(tensorflow::FunctionDefsEqual(found, expected),
        "written: " + found.DebugString() + "\nby FunctionDefHelper: " + expected.DebugString());
}

void InferredFromInputs() {
  const FunctionDef function =
      Written({{"x: T", "values: N * T", "any: Types", "dy: T"},
               {"dx: T"},
               {"T: {float, double}", "N: int", "Types: list(type)"},
               {
                   // Not in order.
                   {{"dx"}, "Mul", {"sum", "scaled"}},
                   {{"sum"}, "AddN", {"values"}},
                   {{"pair"}, "AddN", {"x", "dy"}},
                   {{"scaled"}, "Mul", {"pair", "two"}},
                   {{"two"}, "Cast", {"number"}, {{"DstT", "$T"}}},
                   FDH::Const("number", 2.0f),
                   {{"all"}, "IdentityN", {"any"}},
                   {{"some"}, "IdentityN", {"number", "number"}},
                   {{"joined"}, "ConcatV2", {"x", "values:0", "dy", "axis"}},
                   FDH::Const("axis", 0),
               }},
              "a table with gaps");
  Check(Find(function, "dx").attr().at("T").placeholder() == "T", "T of dx");
  Check(Find(function, "sum").attr().at("N").placeholder() == "N", "N of sum");
  Check(Find(function, "pair").attr().at("N").i() == 2, "N of pair");
  Check(Find(function, "two").attr().at("SrcT").type() == DT_FLOAT, "SrcT");
  Check(Find(function, "all").attr().at("T").placeholder() == "Types", "all");
  Check(Find(function, "some").attr().at("T").list().type_size() == 2, "some");
  Check(Find(function, "joined").attr().at("N").i() == 3, "N of joined");
  Check(Find(function, "joined").attr().at("Tidx").type() == DT_INT32, "Tidx");
  CheckInputs(Find(function, "joined"), {"x", "values:0", "dy", "axis:output:0"});
  Strings order;
  for (const NodeDef& node : function.node_def()) order.push_back(node.name());
  Check(order.front() == "sum" && order[5] == "dx", "nodes do not follow their inputs");
  CheckInstantiates(function,
                    {{"T", DT_DOUBLE}, {"N", 3}, {"Types", tensorflow::DataTypeSlice{DT_FLOAT}}});
}

void Lists() {
  const FunctionDef function =
      Written({{"values: N * float", "weight: float"},
               {"copies: N * float", "first: float", "second: float", "weight: float"},
               {"N: int"},
               {
                   {{"copies"},
                    "IdentityN",
                    {"values"},
                    {{"T", tensorflow::DataTypeSlice{DT_FLOAT, DT_FLOAT}}}},
                   {{"first"}, "Identity", {"copies:output:0"}},
                   // One name for each tensor.
                   {{"a", "b"},
                    "IdentityN",
                    {"weight", "weight"},
                    {{"T", tensorflow::DataTypeSlice{DT_FLOAT, DT_FLOAT}}}},
                   {{"second"}, "Identity", {"b"}},
               }},
              "lists");
  Check(function.ret().at("copies") == "copies:output", "a list as a result");
  Check(function.ret().at("weight") == "weight", "an argument as a result");
  CheckInputs(Find(function, "first"), {"copies:output:0"});
  CheckInputs(Find(function, "second"), {"a:output:1"});
  CheckInstantiates(function, {{"N", 2}});
}

void DevicesAndNames() {
  FDH::Node node = {{"dx"}, "Mul", {"dy", "x"}};
  node.name = "product";
  node.device = "/device:CPU:0";
  const FunctionDef function = Written({.nodes = {node}}, "a name");
  Check(Find(function, "product").device() == "/device:CPU:0", "the device");
  Check(function.ret().at("dx") == "product:z:0", "the node's own name");
}

// A mistake, and a part of its message.
struct Mistake {
  std::string what;
  Table table;
  Strings said;
};

Table WithNodes(const Nodes& nodes) { return {.nodes = nodes}; }

const FDH::Node kProduct = {{"dx"}, "Mul", {"dy", "x"}};

std::vector<Mistake> Mistakes() {
  return {
      {"an unknown op",
       WithNodes({{{"dx"}, "Multiply", {"dy", "x"}}}),
       {"'dx'", "Multiply", "not registered"}},
      {"a cycle",
       WithNodes({{{"dx"}, "Mul", {"dy", "a"}}, {{"a"}, "Neg", {"dx"}}}),
       {"'dx'", "a", "cycle"}},
      {"an unknown input", WithNodes({{{"dx"}, "Mul", {"dy", "z"}}}), {"'dx'", "Mul", "input 'z'"}},
      {"an unknown output of a node",
       WithNodes(
           {{{"dx"}, "Mul", {"dy", "a:y:0"}}, {{"a"}, "Neg", {"x"}}, {{"b"}, "Neg", {"a:z:0"}}}),
       {"'b'", "a:z:0"}},
      {"an element behind a list's end",
       {.attributes = {"T: {float}"},
        .nodes = {{{"a", "b"},
                   "IdentityN",
                   {"x", "dy"},
                   {{"T", tensorflow::DataTypeSlice{DT_FLOAT, DT_FLOAT}}}},
                  {{"dx"}, "Neg", {"a:output:2"}}}},
       {"'dx'", "a:output:2"}},
      {"an unknown node to wait for",
       WithNodes({{{"dx"}, "Mul", {"dy", "x"}, {}, {"before"}}}),
       {"'dx'", "before"}},
      {"too few inputs", WithNodes({{{"dx"}, "Mul", {"dy"}}}), {"'dx'", "1 input", "x, y"}},
      {"too many inputs",
       WithNodes({{{"dx"}, "Mul", {"dy", "x", "x"}}}),
       {"'dx'", "3 inputs", "x, y"}},
      {"two nodes of a name",
       WithNodes({kProduct, {{"dx"}, "Neg", {"x"}}}),
       {"'dx'", "Neg", "this name"}},
      {"an output with an argument's name",
       WithNodes({kProduct, {{"x"}, "Neg", {"dy"}}}),
       {"'x'", "argument"}},
      {"a node without a name", WithNodes({kProduct, {{}, "Neg", {"dy"}}}), {"Neg", "name"}},
      {"too few names",
       WithNodes({kProduct, {{"a"}, "Unique", {"x"}, {{"out_idx", DT_INT32}}}}),
       {"'a'", "1 name", "y, idx"}},
      {"an attribute that the op has not",
       WithNodes({{{"dx"}, "Mul", {"dy", "x"}, {{"Tidx", DT_INT32}}}}),
       {"'dx'", "'Tidx'", "T"}},
      {"an attribute twice",
       WithNodes({{{"dx"}, "Mul", {"dy", "x"}, {{"T", "$T"}, {"T", "$T"}}}}),
       {"'dx'", "'T'", "twice"}},
      {"an attribute of another kind",
       WithNodes({{{"dx"}, "Mul", {"dy", "x"}, {{"T", 3}}}}),
       {"'dx'", "'T'"}},
      {"a placeholder that is not defined",
       WithNodes({{{"dx"}, "Mul", {"dy", "x"}, {{"T", "$U"}}}}),
       {"'dx'", "'T'", "$U", "T"}},
      {"a placeholder of another kind",
       {.attributes = {"T: {float, double}", "n: int"},
        .nodes = {{{"dx"}, "Mul", {"dy", "x"}, {{"T", "$n"}}}}},
       {"'dx'", "'T'", "$n is int"}},
      {"a missing attribute", WithNodes({{{"dx"}, "Cast", {"dy"}}}), {"'dx'", "'DstT'", "missing"}},
      {"a constant of one type",
       WithNodes({FDH::Const("half", 0.5f), {{"dx"}, "Mul", {"dy", "half"}}}),
       {"'dx'", "'half'", "float", "$T", "Cast"}},
      {"an input of another type",
       WithNodes({FDH::Const("n", 1), FDH::Const("m", 1.0), {{"a"}, "Mul", {"n", "m"}}, kProduct}),
       {"'a'", "'m'", "double", "int32"}},
      {"a list for one tensor",
       {.arguments = {"x: N * T", "dy: T"},
        .attributes = {"N: int", "T: {float, double}"},
        .nodes = {kProduct}},
       {"'dx'", "'x'", "list", "x:0"}},
      {"a result that nothing makes", {.results = {"dz: T"}, .nodes = {kProduct}}, {"'dz'"}},
      {"a result of another type",
       {.results = {"dx: int32"}, .nodes = {kProduct}},
       {"'dx'", "int32", "$T"}},
      {"two results of a name",
       {.results = {"dx: T", "dx: T"}, .nodes = {kProduct}},
       {"two results", "'dx'"}},
      {"two arguments of a name",
       {.arguments = {"x: T", "x: T"}, .nodes = {kProduct}},
       {"two arguments", "'x'"}},
      {"a type that is none",
       {.arguments = {"x: T", "dy: flaot"}, .nodes = {kProduct}},
       {"dy: flaot"}},
      {"an argument without a type", {.arguments = {"x: T", "dy"}, .nodes = {kProduct}}, {"dy"}},
      {"an attribute that is none",
       {.attributes = {"T: {float, duoble}"}, .nodes = {kProduct}},
       {"duoble"}},
  };
}

void EachMistakeIsAnError() {
  for (const Mistake& mistake : Mistakes()) {
    FunctionDef function;
    function.mutable_signature()->set_name("as it was");
    const absl::Status status = Write(mistake.table, &function);
    Check(absl::IsInvalidArgument(status), mistake.what + ": " + status.ToString());
    for (const std::string& said : mistake.said) {
      Check(absl::StrContains(status.message(), said),
            mistake.what + ": does not say \"" + said + "\": " + status.ToString());
    }
    Check(function.signature().name() == "as it was", mistake.what + ": the function has changed");
  }
}

}  // namespace

int main() {
  SameAsFunctionDefHelper();
  InferredFromInputs();
  Lists();
  DevicesAndNames();
  EachMistakeIsAnError();
  return tensorflow_ext::ExitStatus();
}
