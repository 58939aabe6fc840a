#include "tensorflow_ext/gradient/define/definition.h"

#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/define/node_attributes.h"
#include "tensorflow_ext/gradient/define/node_checks.h"
#include "tensorflow_ext/gradient/registry/function_registry.h"

namespace tensorflow_ext {

using tensorflow::AttrSlice;
using tensorflow::DataType;
using tensorflow::DataTypeString;
using tensorflow::DataTypeVector;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;
using tensorflow::OpDef;
using tensorflow::OpRegistry;

namespace {

// Prefixes an error with the op's name and keeps the code.
absl::Status InGradientOf(const std::string& op, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("In the gradient of ", op, ": ", status.message()));
}

absl::Status WrongDefinition(const std::string& op, absl::string_view what) {
  return InGradientOf(op, absl::FailedPreconditionError(what));
}

absl::Status CheckTypes(const std::string& op, absl::string_view what,
                        const DataTypeVector& expected, const DataTypeVector& found) {
  if (expected.size() != found.size()) {
    return WrongDefinition(
        op, absl::StrCat("the function has ", found.size(), " ", what,
                         found.size() == 1 ? " (" : "s (", tensorflow::DataTypeVectorString(found),
                         ") where ", expected.size(), expected.size() == 1 ? " is" : " are",
                         " expected (", tensorflow::DataTypeVectorString(expected), ")"));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    // A resource's gradient has the type of the resource's content.
    const bool any_type = expected[i] == tensorflow::DT_RESOURCE && what == "result";
    if (expected[i] == found[i] || any_type) continue;
    return WrongDefinition(
        op, absl::StrCat(what, " ", i, " has type ", DataTypeString(found[i]), " where ",
                         DataTypeString(expected[i]), " is expected"));
  }
  return absl::OkStatus();
}

// Fills in default attributes and validates each node of the body.
absl::Status CompleteBody(const std::string& op, std::vector<NodeDef>* body) {
  for (NodeDef& node : *body) {
    const OpDef* op_def = nullptr;
    absl::Status status = OpRegistry::Global()->LookUpOpDef(node.op(), &op_def);
    if (status.ok()) {
      tensorflow::AddDefaultsToNodeDef(*op_def, &node);
      status = tensorflow::ValidateNodeDef(node, *op_def);
    }
    if (!status.ok()) {
      return WrongDefinition(
          op, absl::StrCat("node '", node.name(), "' of op ", node.op(), ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

// Runs the creator, which is the op author's code.
absl::Status Write(const Forward& forward, const GradientCreator& creator, FunctionDef* function) {
  try {
    return creator(AttrSlice(forward.node), function);
  } catch (const std::exception& error) {
    return absl::FailedPreconditionError(
        absl::StrCat("its creator throws: ", error.what(), "; let it return an error"));
  } catch (...) {
    return absl::FailedPreconditionError(
        "its creator throws something that is not a std::exception; let it return an error");
  }
}

// Instantiates the function with the op's attributes.
absl::Status Instantiate(const Forward& forward, const FunctionDef& function,
                         tensorflow::InstantiationResult* result) {
  const std::string& op = forward.node.op();
  if (function.ret_size() == 0 && function.signature().output_arg_size() != 0) {
    return WrongDefinition(op, "the function returns nothing");
  }
  absl::Status status = tensorflow::InstantiateFunction(
      function, AttrSlice(forward.node),
      [](const std::string& name, const OpDef** op_def) {
        return OpRegistry::Global()->LookUpOpDef(name, op_def);
      },
      result);
  if (status.ok()) return status;
  return WrongDefinition(op, status.message());
}

}  // namespace

absl::StatusOr<Forward> FindForward(const NodeDef& node) {
  Forward forward;
  if (!OpRegistry::Global()->LookUpOpDef(node.op(), &forward.op_def).ok()) {
    return absl::NotFoundError(
        absl::StrCat("Op '", node.op(), "' is not registered; load the library that has it, or ",
                     "correct the name"));
  }
  forward.node = OpAndAttributes(node);
  tensorflow::AddDefaultsToNodeDef(*forward.op_def, &forward.node);
  absl::Status status = tensorflow::InOutTypesForNode(forward.node, *forward.op_def,
                                                      &forward.input_types, &forward.output_types);
  if (status.ok()) {
    // Validation needs a node with the right number of inputs.
    NodeDef connected = forward.node;
    for (size_t i = 0; i < forward.input_types.size(); ++i) {
      connected.add_input("input");
    }
    status = tensorflow::ValidateNodeDef(connected, *forward.op_def);
  }
  if (status.ok()) return forward;
  return absl::InvalidArgumentError(absl::StrCat("The attributes given for ", node.op(),
                                                 " are missing or wrong: ", status.message(),
                                                 ". Give those that its OpDef names."));
}

absl::StatusOr<Definition> FindDefinition(const Forward& forward) {
  const std::string& op = forward.node.op();
  const GradientCreator creator = FindCreator(op);
  if (!creator) {
    return absl::NotFoundError(
        absl::StrCat("Op ", op, " has no gradient in the function registry; write one with ",
                     "REGISTER_OP_GRADIENT"));
  }
  Definition definition;
  definition.forward = forward;
  absl::Status status = Write(forward, creator, &definition.function);
  if (status.ok()) status = CheckNodes(forward.node, definition.function);
  if (!status.ok()) return InGradientOf(op, status);
  tensorflow::InstantiationResult instance;
  TF_RETURN_IF_ERROR(Instantiate(forward, definition.function, &instance));

  DataTypeVector arguments = forward.input_types;
  arguments.insert(arguments.end(), forward.output_types.begin(), forward.output_types.end());
  TF_RETURN_IF_ERROR(CheckTypes(op, "argument", arguments, instance.arg_types));
  TF_RETURN_IF_ERROR(CheckTypes(op, "result", forward.input_types, instance.ret_types));
  definition.body = std::move(instance.nodes);
  TF_RETURN_IF_ERROR(CompleteBody(op, &definition.body));
  return definition;
}

}  // namespace tensorflow_ext
