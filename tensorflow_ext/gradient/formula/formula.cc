// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/formula/formula.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/client_registry.h"
#include "tensorflow_ext/gradient/formula/formula_state.h"
#include "tensorflow_ext/gradient/node_attributes.h"

namespace tensorflow_ext {

using tensorflow::AttrSlice;
using tensorflow::DataTypeString;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;
using tensorflow::OpDef;
using tensorflow::OpRegistry;

absl::Status Gradient::State::Begin(const AttrSlice& attrs,
                                    const std::string& op) {
  TF_RETURN_IF_ERROR(OpRegistry::Global()->LookUpOpDef(op, &op_def));
  forward.set_op(op);
  for (const auto& [name, value] : attrs) {
    (*forward.mutable_attr())[name] = value;
  }
  tensorflow::AddDefaultsToNodeDef(*op_def, &forward);
  TF_RETURN_IF_ERROR(tensorflow::InOutTypesForNode(
      forward, *op_def, &input_types, &output_types));
  AddArguments(op_def->input_arg(), "");
  AddArguments(op_def->output_arg(), "upstream_");
  return absl::OkStatus();
}

void Gradient::State::AddArguments(
    const tensorflow::protobuf::RepeatedPtrField<OpDef::ArgDef>& args,
    const std::string& prefix) {
  for (const OpDef::ArgDef& arg : args) {
    for (int i = 0; i < SizeOf(arg, forward); ++i) {
      std::string name = absl::StrCat(prefix, arg.name());
      if (IsList(arg)) absl::StrAppend(&name, "_", i);
      const size_t index = tensors.size();
      const DataType type = index < input_types.size()
                                ? input_types[index]
                                : output_types[index - input_types.size()];
      tensors.push_back({name, name, type});
      arguments.push_back(absl::StrCat(name, ": ", DataTypeString(type)));
      names[name] = 1;
    }
  }
}

bool Gradient::State::IsIndex(int i, int count, const char* what) {
  if (i >= 0 && i < count) return true;
  Fail(absl::InvalidArgumentError(
      absl::StrCat("there is no ", what, " ", i, " among ", count)));
  return false;
}

const std::string& Gradient::op() const { return state_->forward.op(); }
int Gradient::num_inputs() const { return state_->input_types.size(); }
int Gradient::num_outputs() const { return state_->output_types.size(); }

Value Gradient::Input(int i) {
  return Value(this, state_->IsIndex(i, num_inputs(), "input") ? i : 0);
}

Values Gradient::Inputs(const std::string& name) {
  int next = 0;
  for (const OpDef::ArgDef& arg : state_->op_def->input_arg()) {
    const int size = SizeOf(arg, state_->forward);
    if (arg.name() == name) {
      Values values;
      for (int i = 0; i < size; ++i) values.push_back(Value(this, next + i));
      return values;
    }
    next += size;
  }
  state_->Fail(absl::InvalidArgumentError(
      absl::StrCat("there is no input '", name, "'")));
  return {};
}

Value Gradient::Upstream(int i) {
  const bool exists = state_->IsIndex(i, num_outputs(), "output");
  return Value(this, exists ? num_inputs() + i : 0);
}

Values Gradient::Upstreams() {
  Values values;
  for (int i = 0; i < num_outputs(); ++i) values.push_back(Upstream(i));
  return values;
}

Value Gradient::Output(int i) {
  if (state_->outputs.empty()) {
    std::vector<Argument> inputs;
    for (const OpDef::ArgDef& arg : state_->op_def->input_arg()) {
      Values values = Inputs(arg.name());
      if (IsList(arg)) {
        inputs.push_back(std::move(values));
      } else {
        inputs.push_back(values[0]);
      }
    }
    Attributes attributes;
    for (const auto& [name, value] : state_->forward.attr()) {
      attributes.push_back({name.c_str(), OfOp{name}});
    }
    state_->outputs = CallAll(op(), inputs, attributes);
  }
  const bool exists = state_->IsIndex(i, state_->outputs.size(), "output");
  return exists ? state_->outputs[i] : Value(this, 0);
}

template <typename T>
T Gradient::Attr(const std::string& name) {
  T value{};
  state_->Fail(
      tensorflow::GetNodeAttr(AttrSlice(state_->forward), name, &value));
  return value;
}
template bool Gradient::Attr(const std::string&);
template int64_t Gradient::Attr(const std::string&);
template float Gradient::Attr(const std::string&);
template std::string Gradient::Attr(const std::string&);
template DataType Gradient::Attr(const std::string&);
template std::vector<int64_t> Gradient::Attr(const std::string&);
template std::vector<float> Gradient::Attr(const std::string&);
template std::vector<std::string> Gradient::Attr(const std::string&);
template std::vector<DataType> Gradient::Attr(const std::string&);

Attributes Gradient::AttrsOfOp(const std::vector<std::string>& names) const {
  Attributes attributes;
  for (const std::string& name : names) {
    attributes.push_back({name.c_str(), OfOp{name}});
  }
  return attributes;
}

namespace {

// What writes the gradient of `op` by `formula`.
GradientCreator CreatorOf(const char* op, Formula formula) {
  return [op = std::string(op), formula](const AttrSlice& attrs,
                                         FunctionDef* function) {
    Gradient::State state;
    TF_RETURN_IF_ERROR(state.Begin(attrs, op));
    Gradient gradient(&state);
    formula(gradient);
    TF_RETURN_IF_ERROR(state.status);
    if (!state.returned) {
      return absl::FailedPreconditionError("the formula returns nothing");
    }
    *function = state.Finish();
    return absl::OkStatus();
  };
}

}  // namespace

bool RegisterFormula(const char* op, Formula formula) {
  return RegisterGradient(op, CreatorOf(op, formula));
}

bool RegisterFunctionRuntimeFormula(const char* op, Formula formula) {
  return RegisterFunctionRuntimeGradient(op, CreatorOf(op, formula));
}

bool RegisterStandIn(const char* op, Formula formula) {
  RegisterFormula(op, formula);
  return StandIn(op);
}

}  // namespace tensorflow_ext
