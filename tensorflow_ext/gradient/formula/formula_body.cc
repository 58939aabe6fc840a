// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_state.h"
#include "tensorflow_ext/gradient/node_attributes.h"

namespace tensorflow_ext {

using tensorflow::AttrValue;
using tensorflow::DataTypeString;
using tensorflow::DataTypeVector;
using tensorflow::FunctionDef;
using FDH = tensorflow::FunctionDefHelper;
using tensorflow::NameAttrList;
using tensorflow::NodeDef;
using tensorflow::NodeDefBuilder;
using tensorflow::OpDef;
using tensorflow::OpRegistry;
using tensorflow::Tensor;
using tensorflow::TensorShape;

namespace {

static_assert(DT_FLOAT == tensorflow::DT_FLOAT &&
              DT_DOUBLE == tensorflow::DT_DOUBLE &&
              DT_INT32 == tensorflow::DT_INT32 &&
              DT_COMPLEX64 == tensorflow::DT_COMPLEX64 &&
              DT_INT64 == tensorflow::DT_INT64 &&
              DT_BOOL == tensorflow::DT_BOOL &&
              DT_BFLOAT16 == tensorflow::DT_BFLOAT16 &&
              DT_UINT16 == tensorflow::DT_UINT16 &&
              DT_COMPLEX128 == tensorflow::DT_COMPLEX128 &&
              DT_HALF == tensorflow::DT_HALF &&
              DT_RESOURCE == tensorflow::DT_RESOURCE &&
              DT_VARIANT == tensorflow::DT_VARIANT);

// Fills `tensor` with `numbers` in its own type.
absl::Status Fill(const std::vector<double>& numbers, Tensor* tensor) {
  switch (tensor->dtype()) {
#define CASE(T)                                          \
  case tensorflow::DataTypeToEnum<T>::value:             \
    for (size_t i = 0; i < numbers.size(); ++i) {        \
      tensor->flat<T>()(i) = static_cast<T>(numbers[i]); \
    }                                                    \
    return absl::OkStatus()
    CASE(Eigen::half);
    CASE(Eigen::bfloat16);
    CASE(float);
    CASE(double);
    CASE(tensorflow::complex64);
    CASE(tensorflow::complex128);
    CASE(bool);
    CASE(int8_t);
    CASE(uint8_t);
    CASE(int16_t);
    CASE(uint16_t);
    CASE(int32_t);
    CASE(uint32_t);
    CASE(int64_t);
    CASE(uint64_t);
#undef CASE
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "a constant cannot have type ", DataTypeString(tensor->dtype())));
  }
}

template <typename T>
AttrVariant ToVariant(T value) {
  if constexpr (std::is_same_v<T, int>) {
    return static_cast<int64_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return static_cast<float>(value);
  } else if constexpr (std::is_same_v<T, const char*>) {
    return std::string(value);
  } else {
    return value;
  }
}

// The attribute of this name; an error in `status` where the op has none.
AttrValue Find(const std::string& name, const NodeDef& forward,
               absl::Status* status) {
  const auto found = forward.attr().find(name);
  if (found != forward.attr().end()) return found->second;
  *status = absl::InvalidArgumentError(
      absl::StrCat(forward.op(), " has no attribute '", name, "'"));
  return {};
}

// Puts the gradient of `function` in its place, as the function runtime's
// Instantiate() knows it.
void Differentiate(const GradientOf& gradient, NameAttrList* function) {
  NameAttrList result;
  result.set_name("SymbolicGradient");
  auto& attributes = *result.mutable_attr();
  function->Swap(attributes["f"].mutable_func());
  tensorflow::SetAttrValue(gradient.inputs, &attributes["Tin"]);
  tensorflow::SetAttrValue(gradient.results, &attributes["Tout"]);
  function->Swap(&result);
}

AttrValue ToAttrValue(const AttrVariant& variant, const NodeDef& forward,
                      absl::Status* status) {
  AttrValue result;
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, OfOp>) {
          result = Find(value.name, forward, status);
        } else if constexpr (std::is_same_v<T, GradientOf>) {
          result = Find(value.function, forward, status);
          if (result.has_func()) {
            Differentiate(value, result.mutable_func());
          } else {
            for (NameAttrList& one : *result.mutable_list()->mutable_func()) {
              Differentiate(value, &one);
            }
          }
        } else if constexpr (std::is_same_v<T, AnyShape>) {
          result.mutable_shape()->set_unknown_rank(true);
        } else if constexpr (std::is_same_v<T, std::vector<AnyShape>>) {
          for (size_t i = 0; i < value.size(); ++i) {
            result.mutable_list()->add_shape()->set_unknown_rank(true);
          }
        } else {
          tensorflow::SetAttrValue(value, &result);
        }
      },
      variant);
  return result;
}

}  // namespace

Argument::Argument(Value value) : values_({value}) {}
Argument::Argument(Values values)
    : values_(std::move(values)), is_list_(true) {}
Argument::Argument(const Argument& other) = default;
Argument& Argument::operator=(const Argument& other) = default;
Argument::~Argument() = default;

template <typename T>
Attribute::Attribute(const char* attr_name, T v)
    : name(attr_name), value(ToVariant(std::move(v))) {}
template Attribute::Attribute(const char*, bool);
template Attribute::Attribute(const char*, int);
template Attribute::Attribute(const char*, int64_t);
template Attribute::Attribute(const char*, float);
template Attribute::Attribute(const char*, double);
template Attribute::Attribute(const char*, const char*);
template Attribute::Attribute(const char*, std::string);
template Attribute::Attribute(const char*, DataType);
template Attribute::Attribute(const char*, std::vector<int64_t>);
template Attribute::Attribute(const char*, std::vector<float>);
template Attribute::Attribute(const char*, std::vector<std::string>);
template Attribute::Attribute(const char*, std::vector<DataType>);
template Attribute::Attribute(const char*, OfOp);
template Attribute::Attribute(const char*, AnyShape);
template Attribute::Attribute(const char*, std::vector<AnyShape>);
template Attribute::Attribute(const char*, GradientOf);
Attribute::Attribute(const Attribute& other) = default;
Attribute& Attribute::operator=(const Attribute& other) = default;
Attribute::~Attribute() = default;

std::string Gradient::State::UniqueName(const std::string& op) {
  // '>' of a namespace cannot stand in a node's name of a function.
  std::string base = op.substr(op.rfind('>') + 1);
  const int count = names[base]++;
  return count == 0 ? base : UniqueName(absl::StrCat(base, "_", count));
}

Value Gradient::State::AddConstant(Gradient* gradient,
                                   const std::vector<double>& numbers,
                                   bool is_vector, DataType type) {
  auto [entry, is_new] =
      constants.insert({{numbers, is_vector, type}, Value()});
  if (!is_new) return entry->second;
  TensorShape shape;
  if (is_vector) shape.AddDim(numbers.size());
  Tensor tensor(type, shape);
  if (absl::Status filled = Fill(numbers, &tensor); !filled.ok()) {
    Fail(filled);
    tensor = Tensor(DT_FLOAT, shape);
  }
  FDH::Node node;
  const std::string name = UniqueName("Const");
  node.ret = {name};
  node.op = "Const";
  node.attr = {{"dtype", type}, {"value", tensor}};
  nodes.push_back(std::move(node));
  entry->second = Value(gradient, tensors.size());
  tensors.push_back({name, absl::StrCat(name, ":output:0"), type});
  return entry->second;
}

FunctionDef Gradient::State::Finish() const {
  std::vector<std::string> results_def;
  std::vector<std::pair<std::string, std::string>> returns;
  for (size_t i = 0; i < results.size(); ++i) {
    const BodyTensor& tensor = tensors[results[i].id_];
    std::string name = absl::StrCat("gradient_", i);
    results_def.push_back(
        absl::StrCat(name, ": ", DataTypeString(tensor.type)));
    returns.emplace_back(std::move(name), tensor.endpoint);
  }
  return FDH::Create("", arguments, results_def, {}, nodes, returns);
}

DataType Value::type() const {
  return exists() ? gradient_->state()->tensors[id_].type
                  : tensorflow::DT_INVALID;
}

Value Operand::In(Gradient* gradient, DataType type) const {
  return is_number() ? gradient->Scalar(number_, type) : value_;
}

Values Gradient::CallAll(const std::string& op,
                         const std::vector<Argument>& inputs,
                         const Attributes& attributes) {
  // After a mistake the values only keep the formula running to its end.
  const Values placeholder(16, Value(this, 0));
  if (!state_->status.ok()) return placeholder;
  const std::string name = state_->UniqueName(op);
  const auto fail = [&](const absl::Status& error) {
    state_->Fail(absl::Status(
        error.code(),
        absl::StrCat("node '", name, "' of op ", op, ": ", error.message())));
    return placeholder;
  };

  const OpDef* op_def = nullptr;
  absl::Status status = OpRegistry::Global()->LookUpOpDef(op, &op_def);
  if (!status.ok()) {
    return fail(absl::FailedPreconditionError("the op is not registered"));
  }
  NodeDefBuilder builder(name, op_def);
  FDH::Node node;
  for (const Argument& input : inputs) {
    std::vector<NodeDefBuilder::NodeOut> list;
    for (const Value& value : input.values()) {
      if (!value.exists()) {
        return fail(absl::FailedPreconditionError("an input does not exist"));
      }
      const BodyTensor& tensor = state_->tensors[value.id_];
      list.emplace_back(tensor.node, 0, tensor.type);
      node.arg.push_back(tensor.endpoint);
    }
    if (input.is_list()) {
      builder.Input(list);
    } else {
      builder.Input(list[0]);
    }
  }
  for (const Attribute& attribute : attributes) {
    builder.Attr(attribute.name,
                 ToAttrValue(attribute.value, state_->forward, &status));
  }
  NodeDef node_def;
  if (status.ok()) status = builder.Finalize(&node_def);
  DataTypeVector input_types, output_types;
  if (status.ok()) {
    status = tensorflow::InOutTypesForNode(node_def, *op_def, &input_types,
                                           &output_types);
  }
  if (!status.ok()) return fail(status);

  node.ret = {name};
  node.op = op;
  for (const auto& [attr_name, value] : node_def.attr()) {
    node.attr.emplace_back(attr_name, FDH::AttrValueWrapper());
    node.attr.back().second.proto = value;
  }
  state_->nodes.push_back(std::move(node));
  Values outputs;
  for (const OpDef::ArgDef& arg : op_def->output_arg()) {
    for (int i = 0; i < SizeOf(arg, node_def); ++i) {
      const DataType type = output_types[outputs.size()];
      outputs.push_back(Value(this, state_->tensors.size()));
      state_->tensors.push_back(
          {name, absl::StrCat(name, ":", arg.name(), ":", i), type});
    }
  }
  return outputs;
}

Value Gradient::Call(const std::string& op, const std::vector<Argument>& inputs,
                     const Attributes& attributes) {
  return CallAll(op, inputs, attributes)[0];
}

Value Gradient::After(Value x, Value first) {
  const Value identity = Call("Identity", {x});
  if (state_->status.ok()) {
    state_->nodes.back().dep = {state_->tensors[first.id_].node};
  }
  return identity;
}

Value Gradient::Scalar(double number, DataType type) {
  return state_->AddConstant(this, {number}, false, type);
}

Value Gradient::Vector(const std::vector<double>& numbers, DataType type) {
  return state_->AddConstant(this, numbers, true, type);
}

Value Gradient::Int(int64_t number) {
  return Scalar(static_cast<double>(number), DT_INT32);
}

Value Gradient::Ints(const std::vector<int64_t>& numbers) {
  return Vector(std::vector<double>(numbers.begin(), numbers.end()), DT_INT32);
}

void Gradient::Return(const Values& gradients) {
  if (static_cast<int>(gradients.size()) != num_inputs()) {
    state_->Fail(absl::FailedPreconditionError(
        absl::StrCat("the formula returns ", gradients.size(),
                     " gradients for ", num_inputs(), " inputs")));
    return;
  }
  state_->results = gradients;
  for (int i = 0; i < num_inputs(); ++i) {
    Value& result = state_->results[i];
    if (result.exists()) continue;
    // The function runtime takes the gradient of a resource for a float.
    const bool is_handle = Input(i).type() == DT_RESOURCE;
    result =
        Call("TfExt>NoGradient", {is_handle ? Scalar(0, DT_FLOAT) : Input(i)});
  }
  state_->returned = true;
}

void Gradient::ReturnFirst(Value gradient) {
  Values gradients(num_inputs());
  gradients[0] = gradient;
  Return(gradients);
}

void Gradient::Unimplemented(const std::string& what) {
  state_->Fail(absl::UnimplementedError(what));
}

}  // namespace tensorflow_ext
