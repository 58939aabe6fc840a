#include "tensorflow_ext/gradient/formula/formula.h"

#include <cstring>
#include <exception>
#include <list>
#include <type_traits>
#include <utility>

#include "tensorflow_ext/gradient/formula/attribute_views.h"

namespace tensorflow_ext {

namespace {

// A TF_Code, defined here to avoid its header.
constexpr int kFailedPrecondition = 9;
constexpr int kUnimplemented = 12;

// Ends a formula after the body has recorded the failure. Thrown and caught in this file, with only
// the formula in between.
struct Failed {};

// The body that this thread writes, for mistakes that involve no value.
thread_local TfExt_Body* current_body = nullptr;

[[noreturn]] void FailWith(int code, const std::string& what) {
  TfExt_BodyFail(current_body, code, what.c_str());
  throw Failed();
}

// Lines of the short-hand itself do not help an author.
bool IsOwnFile(const char* file) {
  return std::strstr(file, "tensorflow_ext/gradient/formula/") != nullptr;
}

void SetLine(const SourceLine& line) {
  if (current_body == nullptr || IsOwnFile(line.file)) return;
  TfExt_BodySetLine(current_body, line.file, line.line);
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

}  // namespace

DataType Value::type() const {
  if (!exists()) return DataType{0};  // DT_INVALID
  return DataType{TfExt_BodyType(gradient_->body_, tensor_)};
}

Gradient* Value::gradient() const {
  if (exists()) return gradient_;
  FailWith(kFailedPrecondition,
           "a Value that was never assigned is used; assign it first, or return "
           "Value() for an input that has no gradient");
}

Given::Given(Value value, SourceLine line) : value_(value) { SetLine(line); }

Operand::Operand(Value value, SourceLine line) : value_(value) { SetLine(line); }
Operand::Operand(double number, SourceLine line) : number_(number), is_number_(true) {
  SetLine(line);
}
Value Operand::In(Gradient* gradient, DataType type) const {
  return is_number_ ? gradient->Scalar(number_, type) : value_;
}

Argument::Argument(Value value, SourceLine line) : values_({value}) { SetLine(line); }
Argument::Argument(Given value) : values_({value}) {}
Argument::Argument(Values values, SourceLine line) : values_(std::move(values)), is_list_(true) {
  SetLine(line);
}
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

Gradient::Gradient(TfExt_Body* body) : body_(body), op_(TfExt_BodyOp(body)) {}

Value Gradient::Found(int tensor) {
  if (tensor == TFEXT_NO_TENSOR) throw Failed();
  return Value(this, tensor);
}

const std::string& Gradient::op() const { return op_; }
int Gradient::num_inputs() const { return TfExt_BodyNumInputs(body_); }
int Gradient::num_outputs() const { return TfExt_BodyNumOutputs(body_); }

Value Gradient::Input(int i, SourceLine line) {
  SetLine(line);
  return Found(TfExt_BodyInput(body_, i));
}

Values Gradient::Inputs(const std::string& name, SourceLine line) {
  SetLine(line);
  int count = 0;
  const int first = TfExt_BodyInputs(body_, name.c_str(), &count);
  Values values;
  for (int i = 0; i < count; ++i) values.push_back(Found(first + i));
  if (first == TFEXT_NO_TENSOR) throw Failed();
  return values;
}

Value Gradient::Upstream(int i, SourceLine line) {
  SetLine(line);
  return Found(TfExt_BodyUpstream(body_, i));
}

Values Gradient::Upstreams() {
  Values values;
  for (int i = 0; i < num_outputs(); ++i) values.push_back(Upstream(i));
  return values;
}

Value Gradient::Output(int i, SourceLine line) {
  SetLine(line);
  return Found(TfExt_BodyOutput(body_, i));
}

template <typename T>
T Gradient::Attr(const std::string& name, SourceLine line) {
  SetLine(line);
  TfExt_Attribute attribute{name.c_str(), internal::KindOf<T>(), nullptr, 0};
  if (!TfExt_BodyAttribute(body_, &attribute)) throw Failed();
  return internal::ReadAttribute<T>(attribute);
}
template bool Gradient::Attr(const std::string&, SourceLine);
template int64_t Gradient::Attr(const std::string&, SourceLine);
template float Gradient::Attr(const std::string&, SourceLine);
template std::string Gradient::Attr(const std::string&, SourceLine);
template DataType Gradient::Attr(const std::string&, SourceLine);
template std::vector<int64_t> Gradient::Attr(const std::string&, SourceLine);
template std::vector<float> Gradient::Attr(const std::string&, SourceLine);
template std::vector<std::string> Gradient::Attr(const std::string&, SourceLine);
template std::vector<DataType> Gradient::Attr(const std::string&, SourceLine);

Attributes Gradient::AttrsOfOp(const std::vector<std::string>& names) const {
  Attributes attributes;
  for (const std::string& name : names) {
    attributes.push_back({name.c_str(), OfOp{name}});
  }
  return attributes;
}

Values Gradient::CallAll(const std::string& op, const std::vector<Argument>& inputs,
                         const Attributes& attributes, SourceLine line) {
  SetLine(line);
  std::vector<std::vector<int>> tensors;
  std::vector<TfExt_Argument> arguments;
  for (const Argument& input : inputs) {
    std::vector<int>& list = tensors.emplace_back();
    for (const Value& value : input.values()) list.push_back(value.tensor_);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    arguments.push_back(
        {tensors[i].data(), static_cast<int>(tensors[i].size()), inputs[i].is_list()});
  }
  std::list<internal::AttributeView> shown;
  std::vector<TfExt_Attribute> views;
  for (const Attribute& attribute : attributes) {
    views.push_back(shown.emplace_back(attribute).view());
  }
  int num_outputs = 0;
  const int first = TfExt_BodyNode(body_, op.c_str(), arguments.data(), arguments.size(),
                                   views.data(), views.size(), &num_outputs);
  if (first == TFEXT_NO_TENSOR) throw Failed();
  Values outputs;
  for (int i = 0; i < num_outputs; ++i) outputs.push_back(Found(first + i));
  return outputs;
}

Value Gradient::Call(const std::string& op, const std::vector<Argument>& inputs,
                     const Attributes& attributes, SourceLine line) {
  const Values outputs = CallAll(op, inputs, attributes, line);
  if (outputs.empty()) Fail("op " + op + " has no output; call it with CallAll");
  return outputs[0];
}

Value Gradient::After(Value x, Value first, SourceLine line) {
  SetLine(line);
  return Found(TfExt_BodyAfter(body_, x.tensor_, first.tensor_));
}

Value Gradient::Scalar(double number, DataType type, SourceLine line) {
  SetLine(line);
  return Found(TfExt_BodyConstant(body_, &number, 1, 0, type));
}

Value Gradient::Vector(const std::vector<double>& numbers, DataType type, SourceLine line) {
  SetLine(line);
  return Found(TfExt_BodyConstant(body_, numbers.data(), numbers.size(), 1, type));
}

Value Gradient::Int(int64_t number) { return Scalar(static_cast<double>(number), DT_INT32); }

Value Gradient::Ints(const std::vector<int64_t>& numbers) {
  return Vector(std::vector<double>(numbers.begin(), numbers.end()), DT_INT32);
}

void Gradient::Return(const Values& gradients, SourceLine line) {
  SetLine(line);
  std::vector<int> tensors;
  for (const Value& gradient : gradients) tensors.push_back(gradient.tensor_);
  TfExt_BodyReturn(body_, tensors.data(), tensors.size());
}

void Gradient::ReturnFirst(Value gradient, SourceLine line) {
  Values gradients(num_inputs());
  gradients[0] = gradient;
  Return(gradients, line);
}

void Gradient::Unimplemented(const std::string& what) { FailWith(kUnimplemented, what); }
void Gradient::Fail(const std::string& what) { FailWith(kFailedPrecondition, what); }

namespace internal {

void FailFormula(const std::string& what) { FailWith(kFailedPrecondition, what); }

}  // namespace internal

void WriteFormula(TfExt_Body* body, void* formula) {
  TfExt_Body* const outer = std::exchange(current_body, body);
  try {
    Gradient gradient(body);
    reinterpret_cast<Formula>(formula)(gradient);
  } catch (const Failed&) {
    // The body has the error.
  } catch (const std::exception& error) {
    TfExt_BodyFail(body, kFailedPrecondition,
                   (std::string("the formula throws: ") + error.what()).c_str());
  } catch (...) {
    TfExt_BodyFail(body, kFailedPrecondition,
                   "the formula throws something that is not a std::exception");
  }
  current_body = outer;
}

}  // namespace tensorflow_ext
