#include "tensorflow_ext/gradient/define/formula_body.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow_ext/gradient/define/node_attributes.h"
#include "tensorflow_ext/gradient/plan/known_values.h"

namespace tensorflow_ext {

using tensorflow::AttrSlice;
using tensorflow::DataType;
using tensorflow::DataTypeString;
using tensorflow::DataTypeVector;
using tensorflow::FunctionDef;
using FDH = tensorflow::FunctionDefHelper;
using tensorflow::NodeDef;
using tensorflow::NodeDefBuilder;
using tensorflow::OpDef;
using tensorflow::OpRegistry;
using tensorflow::TensorShape;

absl::Status FormulaBody::Begin(const AttrSlice& attrs, const std::string& op) {
  TF_RETURN_IF_ERROR(OpRegistry::Global()->LookUpOpDef(op, &op_def_));
  forward_ = MakeNodeDef(op, attrs);
  tensorflow::AddDefaultsToNodeDef(*op_def_, &forward_);
  TF_RETURN_IF_ERROR(
      tensorflow::InOutTypesForNode(forward_, *op_def_, &input_types_, &output_types_));
  AddArguments(op_def_->input_arg(), "");
  AddArguments(op_def_->output_arg(), "upstream_");
  return absl::OkStatus();
}

void FormulaBody::AddArguments(const tensorflow::protobuf::RepeatedPtrField<OpDef::ArgDef>& args,
                               const std::string& prefix) {
  for (const OpDef::ArgDef& arg : args) {
    for (int i = 0; i < SizeOf(arg, forward_); ++i) {
      std::string name = absl::StrCat(prefix, arg.name());
      if (IsList(arg)) absl::StrAppend(&name, "_", i);
      const size_t index = tensors_.size();
      const DataType type = index < input_types_.size()
                                ? input_types_[index]
                                : output_types_[index - input_types_.size()];
      tensors_.push_back({name, name, type});
      arguments_.push_back(absl::StrCat(name, ": ", DataTypeString(type)));
      names_[name] = 1;
    }
  }
}

int FormulaBody::Fail(const absl::Status& error) {
  if (!status_.ok() || error.ok()) return TFEXT_NO_TENSOR;
  const std::string where = file_ == nullptr ? "" : absl::StrCat(file_, ":", line_, ": ");
  status_ = absl::Status(error.code(), absl::StrCat(where, error.message()));
  return TFEXT_NO_TENSOR;
}

int FormulaBody::Fail(absl::string_view message) {
  return Fail(absl::FailedPreconditionError(message));
}

int FormulaBody::FailInNode(const std::string& name, const std::string& op,
                            absl::string_view message) {
  return Fail(absl::StrCat("node '", name, "' of op ", op, ": ", message));
}

void FormulaBody::SetLine(const char* file, int line) {
  file_ = file;
  line_ = line;
}

bool FormulaBody::IsTensor(int tensor) const {
  return tensor >= 0 && tensor < static_cast<int>(tensors_.size());
}

DataType FormulaBody::TypeOf(int tensor) const {
  return IsTensor(tensor) ? tensors_[tensor].type : tensorflow::DT_INVALID;
}

int FormulaBody::Input(int i) {
  if (i >= 0 && i < num_inputs()) return i;
  return Fail(absl::StrCat("input ", i, " does not exist; ", forward_.op(), " has ", num_inputs()));
}

int FormulaBody::Upstream(int i) {
  if (i >= 0 && i < num_outputs()) return num_inputs() + i;
  return Fail(
      absl::StrCat("output ", i, " does not exist; ", forward_.op(), " has ", num_outputs()));
}

int FormulaBody::Inputs(const std::string& name, int* count) {
  int next = 0;
  for (const OpDef::ArgDef& arg : op_def_->input_arg()) {
    *count = SizeOf(arg, forward_);
    if (arg.name() == name) return next;
    next += *count;
  }
  *count = 0;
  return Fail(absl::StrCat(forward_.op(), " has no input '", name, "'"));
}

int FormulaBody::Output(int i) {
  if (Upstream(i) == TFEXT_NO_TENSOR) return TFEXT_NO_TENSOR;
  if (first_output_ == TFEXT_NO_TENSOR) {
    std::vector<BodyArgument> inputs;
    int next = 0;
    for (const OpDef::ArgDef& arg : op_def_->input_arg()) {
      BodyArgument& input = inputs.emplace_back();
      input.is_list = IsList(arg);
      for (int k = 0; k < SizeOf(arg, forward_); ++k) {
        input.tensors.push_back(next++);
      }
    }
    const BodyAttributes attributes(forward_.attr().begin(), forward_.attr().end());
    int count = 0;
    first_output_ = AddNode(forward_.op(), inputs, attributes, &count);
  }
  return first_output_ == TFEXT_NO_TENSOR ? TFEXT_NO_TENSOR : first_output_ + i;
}

std::string FormulaBody::UniqueName(const std::string& op) {
  // A node's name in a function cannot contain the '>' of a namespace.
  std::string base = op.substr(op.rfind('>') + 1);
  const int count = names_[base]++;
  return count == 0 ? base : UniqueName(absl::StrCat(base, "_", count));
}

int FormulaBody::AddConstant(const std::vector<double>& numbers, bool is_vector, DataType type) {
  if (!ok()) return TFEXT_NO_TENSOR;
  auto [entry, is_new] = constants_.insert({{numbers, is_vector, type}, TFEXT_NO_TENSOR});
  if (!is_new) return entry->second;
  TensorShape shape;
  if (is_vector) shape.AddDim(numbers.size());
  tensorflow::Tensor tensor(type, shape);
  if (absl::Status filled = FillWith(numbers, &tensor); !filled.ok()) {
    return Fail(filled);
  }
  FDH::Node node;
  const std::string name = UniqueName("Const");
  node.ret = {name};
  node.op = "Const";
  node.attr = {{"dtype", type}, {"value", tensor}};
  nodes_.push_back(std::move(node));
  entry->second = tensors_.size();
  tensors_.push_back({name, absl::StrCat(name, ":output:0"), type});
  return entry->second;
}

int FormulaBody::AddNode(const std::string& op, const std::vector<BodyArgument>& arguments,
                         const BodyAttributes& attributes, int* num_outputs) {
  *num_outputs = 0;
  if (!ok()) return TFEXT_NO_TENSOR;
  const std::string name = UniqueName(op);
  const OpDef* op_def = nullptr;
  if (!OpRegistry::Global()->LookUpOpDef(op, &op_def).ok()) {
    return FailInNode(name, op,
                      "the op is not registered; load the library that has it "
                      "or correct the name");
  }
  NodeDefBuilder builder(name, op_def);
  FDH::Node node;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::vector<NodeDefBuilder::NodeOut> list;
    for (int tensor : arguments[i].tensors) {
      if (!IsTensor(tensor)) {
        return FailInNode(
            name, op,
            absl::StrCat("argument ", i, " is a Value that was never assigned; assign it first"));
      }
      list.emplace_back(tensors_[tensor].node, 0, tensors_[tensor].type);
      node.arg.push_back(tensors_[tensor].endpoint);
    }
    if (arguments[i].is_list) {
      builder.Input(list);
    } else if (list.size() == 1) {
      builder.Input(list[0]);
    } else {
      return FailInNode(
          name, op,
          absl::StrCat("argument ", i, " has ", list.size(), " tensors, but is not a list"));
    }
  }
  for (const auto& [attr_name, value] : attributes) {
    // TensorFlow would ignore the attribute.
    if (!IsAnnotation(attr_name) && tensorflow::FindAttr(attr_name, *op_def) == nullptr) {
      return FailInNode(name, op,
                        absl::StrCat("the op has no attribute '", attr_name,
                                     "'; correct the name or leave it out"));
    }
    builder.Attr(attr_name, value);
  }
  NodeDef node_def;
  DataTypeVector input_types, output_types;
  absl::Status status = builder.Finalize(&node_def);
  if (status.ok()) {
    status = tensorflow::InOutTypesForNode(node_def, *op_def, &input_types, &output_types);
  }
  if (!status.ok()) return FailInNode(name, op, status.message());

  node.ret = {name};
  node.op = op;
  for (const auto& [attr_name, value] : node_def.attr()) {
    node.attr.emplace_back(attr_name, FDH::AttrValueWrapper());
    node.attr.back().second.proto = value;
  }
  nodes_.push_back(std::move(node));
  const int first = tensors_.size();
  for (const OpDef::ArgDef& arg : op_def->output_arg()) {
    for (int i = 0; i < SizeOf(arg, node_def); ++i) {
      const DataType type = output_types[tensors_.size() - first];
      tensors_.push_back({name, absl::StrCat(name, ":", arg.name(), ":", i), type});
    }
  }
  *num_outputs = output_types.size();
  return output_types.empty() ? 0 : first;
}

int FormulaBody::AddAfter(int tensor, int first) {
  if (ok() && !IsTensor(first)) {
    return Fail("After: a Value was never assigned; assign it first");
  }
  int count = 0;
  const int identity = AddNode("Identity", {{{tensor}, false}}, {}, &count);
  if (ok()) nodes_.back().dep = {tensors_[first].node};
  return identity;
}

void FormulaBody::Return(const std::vector<int>& gradients) {
  if (has_returned_) {
    Fail("the formula returns a second time; call Return once, at the end");
    return;
  }
  has_returned_ = true;
  if (static_cast<int>(gradients.size()) != num_inputs()) {
    Fail(absl::StrCat("the formula returns ", gradients.size(), " gradients for the ", num_inputs(),
                      " inputs of ", forward_.op(), "; use Value() for an input without one"));
    return;
  }
  results_ = gradients;
  for (int i = 0; i < num_inputs() && ok(); ++i) {
    int& result = results_[i];
    const bool is_handle = input_types_[i] == tensorflow::DT_RESOURCE;
    if (result == TFEXT_NO_TENSOR) {
      // The function runtime treats the gradient of a resource as a float.
      const int input = is_handle ? AddConstant({0}, false, tensorflow::DT_FLOAT) : i;
      int count = 0;
      result = AddNode("TfExt>NoGradient", {{{input}, false}}, {}, &count);
    } else if (!is_handle && TypeOf(result) != input_types_[i]) {
      Fail(absl::StrCat("the gradient of input ", i, " '", tensors_[i].node, "' has type ",
                        DataTypeString(TypeOf(result)), " where ", DataTypeString(input_types_[i]),
                        ", the input's type, is expected; add a Cast"));
    }
  }
}

absl::StatusOr<FunctionDef> FormulaBody::Finish() const {
  TF_RETURN_IF_ERROR(status_);
  if (!has_returned_) {
    return absl::FailedPreconditionError("the formula returns nothing");
  }
  std::vector<std::string> results_def;
  std::vector<std::pair<std::string, std::string>> returns;
  for (size_t i = 0; i < results_.size(); ++i) {
    const Tensor& tensor = tensors_[results_[i]];
    std::string name = absl::StrCat("gradient_", i);
    results_def.push_back(absl::StrCat(name, ": ", DataTypeString(tensor.type)));
    returns.emplace_back(std::move(name), tensor.endpoint);
  }
  return FDH::Create("", arguments_, results_def, {}, nodes_, returns);
}

GradientCreator CreatorOfFormula(const std::string& op, TfExt_FormulaWriter writer, void* data) {
  return [op, writer, data](const AttrSlice& attrs, FunctionDef* function) {
    TfExt_Body body;
    TF_RETURN_IF_ERROR(body.Begin(attrs, op));
    writer(&body, data);
    TF_ASSIGN_OR_RETURN(*function, body.Finish());
    return absl::OkStatus();
  };
}

}  // namespace tensorflow_ext
