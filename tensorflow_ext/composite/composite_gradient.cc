#include "tensorflow_ext/composite/composite_gradient.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/functions/differentiate_function.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::DataTypeVector;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;
using tensorflow::OpDef;

namespace {

// A function may not have the name of an op.
constexpr char kFunction[] = "Composite";

// Removes the identities that differentiation adds.
void RemoveIdentities(FunctionDef* function) {
  std::unordered_map<std::string, std::string> inputs;
  FunctionDef without = *function;
  without.clear_node_def();
  for (const NodeDef& node : function->node_def()) {
    if (node.op() == "Identity" && node.input_size() == 1) {
      inputs[absl::StrCat(node.name(), ":output:0")] = node.input(0);
    } else {
      *without.add_node_def() = node;
    }
  }
  const auto replace = [&](std::string* name) {
    for (auto it = inputs.find(*name); it != inputs.end(); it = inputs.find(*name)) {
      *name = it->second;
    }
  };
  for (NodeDef& node : *without.mutable_node_def()) {
    for (std::string& input : *node.mutable_input()) replace(&input);
  }
  for (auto& [result, tensor] : *without.mutable_ret()) replace(&tensor);
  *function = std::move(without);
}

// Turns a function that returns a gradient for some arguments into the definition of an op's
// gradient, which returns one for every argument.
FunctionDef WithResultForEach(const FunctionDef& function, const DataTypeVector& gradients) {
  FunctionDef definition = function;
  OpDef* signature = definition.mutable_signature();
  signature->clear_output_arg();
  int next = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    OpDef::ArgDef* result = signature->add_output_arg();
    if (gradients[i] != tensorflow::DT_INVALID) {
      *result = function.signature().output_arg(next++);
      continue;
    }
    const OpDef::ArgDef& argument = function.signature().input_arg(i);
    const std::string name = absl::StrCat("no_gradient_of_", argument.name());
    result->set_name(name);
    result->set_type(argument.type());
    NodeDef* node = definition.add_node_def();
    node->set_name(name);
    node->set_op("TfExt>NoGradient");
    node->add_input(argument.name());
    (*node->mutable_attr())["T"].set_type(argument.type());
    (*definition.mutable_ret())[name] = absl::StrCat(name, ":zeros:0");
  }
  return definition;
}

}  // namespace

absl::Status DefineCompositeGradient(const CompositeOp& op, const tensorflow::AttrSlice& attrs,
                                     FunctionDef* gradient) {
  tensorflow::FunctionDefLibrary functions;
  FunctionDef* body = functions.add_function();
  TF_RETURN_IF_ERROR(op.body(attrs, body));
  body->mutable_signature()->set_name(kFunction);
  const tensorflow::FunctionLibraryDefinition library(tensorflow::OpRegistry::Global(), functions);

  tensorflow::NameAttrList function;
  function.set_name(kFunction);
  for (const auto& [name, value] : attrs) {
    (*function.mutable_attr())[name] = value;
  }
  tensorflow::InstantiationResult instance;
  TF_RETURN_IF_ERROR(tensorflow::InstantiateFunction(
      *body, attrs,
      [](const std::string& name, const OpDef** op_def) {
        return tensorflow::OpRegistry::Global()->LookUpOpDef(name, op_def);
      },
      &instance));
  TF_ASSIGN_OR_RETURN(const auto made,
                      DifferentiateFunction(library, function, instance.ret_types));
  TF_RETURN_IF_ERROR(CheckNothingKept(*made));
  for (const FunctionDef& found : made->library.function()) {
    if (found.signature().name() != made->name) continue;
    *gradient = WithResultForEach(found, made->gradients);
    RemoveIdentities(gradient);
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat("the gradient '", made->name, "' is not in its library"));
}

}  // namespace tensorflow_ext
