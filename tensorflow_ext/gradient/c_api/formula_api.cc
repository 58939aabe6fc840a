#include "tensorflow_ext/gradient/formula_api.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow_ext/gradient/bridge/other_libraries.h"
#include "tensorflow_ext/gradient/define/formula_body.h"

using tensorflow::AttrSlice;
using tensorflow::AttrValue;
using tensorflow::DataType;
using tensorflow::NameAttrList;
using tensorflow_ext::BodyArgument;
using tensorflow_ext::BodyAttributes;

namespace {

template <typename T>
std::vector<T> Elements(const TfExt_Attribute& attribute) {
  const T* first = static_cast<const T*>(attribute.elements);
  return std::vector<T>(first, first + attribute.count);
}

std::vector<DataType> Types(const int32_t* types, size_t count) {
  std::vector<DataType> result;
  for (size_t i = 0; i < count; ++i) {
    result.push_back(static_cast<DataType>(types[i]));
  }
  return result;
}

std::vector<std::string> Strings(const TfExt_Attribute& attribute) {
  std::vector<std::string> strings;
  for (const TfExt_String& text : Elements<TfExt_String>(attribute)) {
    strings.emplace_back(text.data, text.length);
  }
  return strings;
}

// Replaces `function` by its gradient, in the form of the function runtime's Instantiate().
void Differentiate(const TfExt_GradientOf& gradient, NameAttrList* function) {
  NameAttrList result;
  result.set_name("SymbolicGradient");
  auto& attributes = *result.mutable_attr();
  function->Swap(attributes["f"].mutable_func());
  tensorflow::SetAttrValue(Types(gradient.inputs, gradient.num_inputs), &attributes["Tin"]);
  tensorflow::SetAttrValue(Types(gradient.results, gradient.num_results), &attributes["Tout"]);
  function->Swap(&result);
}

// The attribute of the op with this name; fails if there is none.
AttrValue OfOp(TfExt_Body* body, const std::string& name) {
  const auto found = body->forward().attr().find(name);
  if (found != body->forward().attr().end()) return found->second;
  body->Fail(absl::StrCat(body->forward().op(), " has no attribute '", name, "'"));
  return {};
}

AttrValue GradientOf(TfExt_Body* body, const TfExt_GradientOf& gradient) {
  AttrValue result = OfOp(body, gradient.function);
  if (result.has_func()) {
    Differentiate(gradient, result.mutable_func());
  } else {
    for (NameAttrList& one : *result.mutable_list()->mutable_func()) {
      Differentiate(gradient, &one);
    }
  }
  return result;
}

AttrValue ToAttrValue(TfExt_Body* body, const TfExt_Attribute& attribute) {
  AttrValue result;
  const auto set = [&result](const auto& value) { tensorflow::SetAttrValue(value, &result); };
  switch (attribute.kind) {
    case TFEXT_ATTRIBUTE_BOOL:
      set(Elements<uint8_t>(attribute)[0] != 0);
      break;
    case TFEXT_ATTRIBUTE_INT:
      set(Elements<int64_t>(attribute)[0]);
      break;
    case TFEXT_ATTRIBUTE_FLOAT:
      set(Elements<float>(attribute)[0]);
      break;
    case TFEXT_ATTRIBUTE_STRING:
      set(Strings(attribute)[0]);
      break;
    case TFEXT_ATTRIBUTE_TYPE:
      set(static_cast<DataType>(Elements<int32_t>(attribute)[0]));
      break;
    case TFEXT_ATTRIBUTE_INTS:
      set(Elements<int64_t>(attribute));
      break;
    case TFEXT_ATTRIBUTE_FLOATS:
      set(Elements<float>(attribute));
      break;
    case TFEXT_ATTRIBUTE_STRINGS:
      set(Strings(attribute));
      break;
    case TFEXT_ATTRIBUTE_TYPES:
      set(Types(static_cast<const int32_t*>(attribute.elements), attribute.count));
      break;
    case TFEXT_ATTRIBUTE_OF_OP:
      return OfOp(body, Strings(attribute)[0]);
    case TFEXT_ATTRIBUTE_ANY_SHAPE:
      result.mutable_shape()->set_unknown_rank(true);
      break;
    case TFEXT_ATTRIBUTE_ANY_SHAPES:
      for (size_t i = 0; i < attribute.count; ++i) {
        result.mutable_list()->add_shape()->set_unknown_rank(true);
      }
      break;
    case TFEXT_ATTRIBUTE_GRADIENT_OF:
      return GradientOf(body, Elements<TfExt_GradientOf>(attribute)[0]);
  }
  return result;
}

// Lends `elements`, or copies of single ones, to the caller of TfExt_BodyAttribute.
template <typename T>
void Lend(TfExt_Body* body, std::vector<T> elements, TfExt_Attribute* attribute) {
  const auto* kept = body->Keep(std::move(elements));
  attribute->elements = kept->data();
  attribute->count = kept->size();
}

// The attribute of the op as a T, which matches the requested kind; fails if it is not one.
template <typename T>
bool Read(TfExt_Body* body, const TfExt_Attribute& attribute, T* value) {
  const AttrValue found = OfOp(body, attribute.name);
  if (!body->ok()) return false;
  const absl::Status status =
      tensorflow::GetNodeAttr(AttrSlice(body->forward()), attribute.name, value);
  if (!status.ok()) {
    body->Fail(absl::StrCat("attribute '", attribute.name, "' of ", body->forward().op(), " is ",
                            tensorflow::SummarizeAttrValue(found), ": ", status.message()));
  }
  return status.ok();
}

template <typename T>
bool LendOne(TfExt_Body* body, TfExt_Attribute* attribute) {
  T value{};
  if (!Read(body, *attribute, &value)) return false;
  Lend(body, std::vector<T>{value}, attribute);
  return true;
}

template <typename T>
bool LendAll(TfExt_Body* body, TfExt_Attribute* attribute) {
  std::vector<T> values;
  if (!Read(body, *attribute, &values)) return false;
  Lend(body, std::move(values), attribute);
  return true;
}

bool LendStrings(TfExt_Body* body, std::vector<std::string> strings, TfExt_Attribute* attribute) {
  const auto* kept = body->Keep(std::move(strings));
  std::vector<TfExt_String> views;
  for (const std::string& text : *kept) {
    views.push_back({text.data(), text.size()});
  }
  Lend(body, std::move(views), attribute);
  return true;
}

bool LendAttribute(TfExt_Body* body, TfExt_Attribute* attribute) {
  switch (attribute->kind) {
    case TFEXT_ATTRIBUTE_BOOL: {
      bool value = false;
      if (!Read(body, *attribute, &value)) return false;
      Lend(body, std::vector<uint8_t>{value}, attribute);
      return true;
    }
    case TFEXT_ATTRIBUTE_INT:
      return LendOne<int64_t>(body, attribute);
    case TFEXT_ATTRIBUTE_FLOAT:
      return LendOne<float>(body, attribute);
    case TFEXT_ATTRIBUTE_STRING: {
      std::string value;
      return Read(body, *attribute, &value) && LendStrings(body, {value}, attribute);
    }
    case TFEXT_ATTRIBUTE_TYPE:
      return LendOne<DataType>(body, attribute);
    case TFEXT_ATTRIBUTE_INTS:
      return LendAll<int64_t>(body, attribute);
    case TFEXT_ATTRIBUTE_FLOATS:
      return LendAll<float>(body, attribute);
    case TFEXT_ATTRIBUTE_STRINGS: {
      std::vector<std::string> values;
      return Read(body, *attribute, &values) && LendStrings(body, std::move(values), attribute);
    }
    case TFEXT_ATTRIBUTE_TYPES:
      return LendAll<DataType>(body, attribute);
    default:
      body->Fail(absl::StrCat("attribute '", attribute->name, "': kind ",
                              static_cast<int>(attribute->kind),
                              " is unknown; expected a TFEXT_ATTRIBUTE_ constant"));
      return false;
  }
}

}  // namespace

extern "C" {

int TfExt_RegisterFormula(const char* op, TfExt_FormulaWriter writer, void* data,
                          TfExt_Precedence precedence) {
  tensorflow_ext::GradientCreator creator;
  if (op != nullptr && writer != nullptr) {
    creator = tensorflow_ext::CreatorOfFormula(op, writer, data);
  }
  const absl::Status registered =
      tensorflow_ext::RegisterOtherGradient(op, std::move(creator), precedence);
  return tensorflow_ext::KeepRegistrationError(registered).ok();
}

const char* TfExt_BodyOp(const TfExt_Body* body) { return body->forward().op().c_str(); }

int TfExt_BodyNumInputs(const TfExt_Body* body) { return body->num_inputs(); }

int TfExt_BodyNumOutputs(const TfExt_Body* body) { return body->num_outputs(); }

int TfExt_BodyInputs(TfExt_Body* body, const char* name, int* count) {
  return body->Inputs(name, count);
}

int TfExt_BodyInput(TfExt_Body* body, int i) { return body->Input(i); }

int TfExt_BodyUpstream(TfExt_Body* body, int i) { return body->Upstream(i); }

int TfExt_BodyOutput(TfExt_Body* body, int i) { return body->Output(i); }

int TfExt_BodyType(const TfExt_Body* body, int tensor) { return body->TypeOf(tensor); }

int TfExt_BodyAttribute(TfExt_Body* body, TfExt_Attribute* attribute) {
  return LendAttribute(body, attribute);
}

void TfExt_BodySetLine(TfExt_Body* body, const char* file, int line) { body->SetLine(file, line); }

int TfExt_BodyNode(TfExt_Body* body, const char* op, const TfExt_Argument* arguments,
                   int num_arguments, const TfExt_Attribute* attributes, int num_attributes,
                   int* num_outputs) {
  std::vector<BodyArgument> inputs;
  for (int i = 0; i < num_arguments; ++i) {
    const TfExt_Argument& argument = arguments[i];
    inputs.push_back({std::vector<int>(argument.tensors, argument.tensors + argument.count),
                      argument.is_list != 0});
  }
  BodyAttributes values;
  for (int i = 0; i < num_attributes; ++i) {
    values.emplace_back(attributes[i].name, ToAttrValue(body, attributes[i]));
  }
  return body->AddNode(op, inputs, values, num_outputs);
}

int TfExt_BodyConstant(TfExt_Body* body, const double* numbers, int count, int is_vector,
                       int type) {
  return body->AddConstant(std::vector<double>(numbers, numbers + count), is_vector != 0,
                           static_cast<DataType>(type));
}

int TfExt_BodyAfter(TfExt_Body* body, int tensor, int first) {
  return body->AddAfter(tensor, first);
}

void TfExt_BodyReturn(TfExt_Body* body, const int* gradients, int count) {
  body->Return(std::vector<int>(gradients, gradients + count));
}

void TfExt_BodyFail(TfExt_Body* body, int code, const char* message) {
  body->Fail(absl::Status(static_cast<absl::StatusCode>(code), message));
}

}  // extern "C"
