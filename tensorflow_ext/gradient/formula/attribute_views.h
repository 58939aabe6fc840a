// Converts attributes to and from the types of formula_api.h. For formula.cc.

#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "tensorflow_ext/gradient/formula/formula.h"

namespace tensorflow_ext::internal {

inline TfExt_String View(const std::string& text) { return {text.data(), text.size()}; }

static_assert(sizeof(DataType) == sizeof(int32_t));
inline const int32_t* Numbers(const std::vector<DataType>& types) {
  return reinterpret_cast<const int32_t*>(types.data());
}

// An attribute for TfExt_BodyNode, with the data that it points to.
class AttributeView {
 public:
  explicit AttributeView(const Attribute& attribute) {
    view_.name = attribute.name.c_str();
    view_.count = 1;
    std::visit([this](const auto& value) { Show(value); }, attribute.value);
  }
  AttributeView(const AttributeView&) = delete;

  const TfExt_Attribute& view() const { return view_; }

 private:
  void Point(TfExt_AttributeKind kind, const void* elements) {
    view_.kind = kind;
    view_.elements = elements;
  }
  template <typename Elements>
  void PointToAll(TfExt_AttributeKind kind, const Elements& elements) {
    Point(kind, elements.data());
    view_.count = elements.size();
  }

  void Show(bool value) {
    truth_ = value;
    Point(TFEXT_ATTRIBUTE_BOOL, &truth_);
  }
  void Show(const int64_t& value) { Point(TFEXT_ATTRIBUTE_INT, &value); }
  void Show(const float& value) { Point(TFEXT_ATTRIBUTE_FLOAT, &value); }
  void Show(const std::string& value) { ShowString(TFEXT_ATTRIBUTE_STRING, value); }
  void Show(const DataType& value) { Point(TFEXT_ATTRIBUTE_TYPE, &value); }
  void Show(const std::vector<int64_t>& value) { PointToAll(TFEXT_ATTRIBUTE_INTS, value); }
  void Show(const std::vector<float>& value) { PointToAll(TFEXT_ATTRIBUTE_FLOATS, value); }
  void Show(const std::vector<std::string>& value) {
    for (const std::string& text : value) strings_.push_back(View(text));
    PointToAll(TFEXT_ATTRIBUTE_STRINGS, strings_);
  }
  void Show(const std::vector<DataType>& value) { PointToAll(TFEXT_ATTRIBUTE_TYPES, value); }
  void Show(const OfOp& value) { ShowString(TFEXT_ATTRIBUTE_OF_OP, value.name); }
  void Show(const AnyShape&) { Point(TFEXT_ATTRIBUTE_ANY_SHAPE, nullptr); }
  void Show(const std::vector<AnyShape>& value) { PointToAll(TFEXT_ATTRIBUTE_ANY_SHAPES, value); }
  void Show(const GradientOf& value) {
    gradient_of_ = {value.function.c_str(), Numbers(value.inputs), value.inputs.size(),
                    Numbers(value.results), value.results.size()};
    Point(TFEXT_ATTRIBUTE_GRADIENT_OF, &gradient_of_);
  }
  void ShowString(TfExt_AttributeKind kind, const std::string& text) {
    strings_ = {View(text)};
    Point(kind, strings_.data());
  }

  TfExt_Attribute view_;
  uint8_t truth_;
  std::vector<TfExt_String> strings_;
  TfExt_GradientOf gradient_of_;
};

// The type that attribute() of a formula reads for a T.
template <typename T>
constexpr TfExt_AttributeKind KindOf() {
  if constexpr (std::is_same_v<T, bool>) return TFEXT_ATTRIBUTE_BOOL;
  if constexpr (std::is_same_v<T, int64_t>) return TFEXT_ATTRIBUTE_INT;
  if constexpr (std::is_same_v<T, float>) return TFEXT_ATTRIBUTE_FLOAT;
  if constexpr (std::is_same_v<T, std::string>) return TFEXT_ATTRIBUTE_STRING;
  if constexpr (std::is_same_v<T, DataType>) return TFEXT_ATTRIBUTE_TYPE;
  if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
    return TFEXT_ATTRIBUTE_INTS;
  }
  if constexpr (std::is_same_v<T, std::vector<float>>) {
    return TFEXT_ATTRIBUTE_FLOATS;
  }
  if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return TFEXT_ATTRIBUTE_STRINGS;
  }
  if constexpr (std::is_same_v<T, std::vector<DataType>>) {
    return TFEXT_ATTRIBUTE_TYPES;
  }
}

template <typename T>
T ReadElement(const TfExt_Attribute& attribute, size_t i, T*) {
  return static_cast<const T*>(attribute.elements)[i];
}
inline bool ReadElement(const TfExt_Attribute& attribute, size_t i, bool*) {
  return static_cast<const uint8_t*>(attribute.elements)[i] != 0;
}
inline std::string ReadElement(const TfExt_Attribute& attribute, size_t i, std::string*) {
  const auto& text = static_cast<const TfExt_String*>(attribute.elements)[i];
  return std::string(text.data, text.length);
}

template <typename T>
struct Reader {
  static T Read(const TfExt_Attribute& attribute) {
    return ReadElement(attribute, 0, static_cast<T*>(nullptr));
  }
};
template <typename T>
struct Reader<std::vector<T>> {
  static std::vector<T> Read(const TfExt_Attribute& attribute) {
    std::vector<T> elements;
    for (size_t i = 0; i < attribute.count; ++i) {
      elements.push_back(ReadElement(attribute, i, static_cast<T*>(nullptr)));
    }
    return elements;
  }
};

// The value of an attribute that TfExt_BodyAttribute filled in.
template <typename T>
T ReadAttribute(const TfExt_Attribute& attribute) {
  return Reader<T>::Read(attribute);
}

}  // namespace tensorflow_ext::internal
