// Attributes with a constraint that an OpDef cannot express. `Context` is an InferenceContext or an
// OpKernelConstruction, so the shape function and every kernel make the same check. Errors are
// InvalidArgument and name the op, the attribute, its value and what was expected.

#pragma once

#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tensorflow_ext {

// A float that is neither infinite nor NaN.
template <typename Context>
absl::Status GetFiniteAttr(Context* context, const char* op, const char* name, float* value) {
  if (absl::Status s = context->GetAttr(name, value); !s.ok()) return s;
  if (std::isfinite(*value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": attribute '", name, "' is ", *value, ", expected a finite number"));
}

// A float > 0; infinity is allowed.
template <typename Context>
absl::Status GetPositiveAttr(Context* context, const char* op, const char* name, float* value) {
  if (absl::Status s = context->GetAttr(name, value); !s.ok()) return s;
  if (*value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": attribute '", name, "' is ", *value, ", expected a number > 0"));
}

// A finite float >= 0.
template <typename Context>
absl::Status GetNonNegativeAttr(Context* context, const char* op, const char* name, float* value) {
  if (absl::Status s = context->GetAttr(name, value); !s.ok()) return s;
  if (*value >= 0 && std::isfinite(*value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": attribute '", name, "' is ", *value, ", expected a finite number >= 0"));
}

// The ends of an interval, min <= max; either may be infinite. `min` and `max` may have other
// attribute names.
template <typename Context>
absl::Status GetRangeAttrs(Context* context, const char* op, float* min, float* max,
                           const char* min_name = "min", const char* max_name = "max") {
  if (absl::Status s = context->GetAttr(min_name, min); !s.ok()) return s;
  if (absl::Status s = context->GetAttr(max_name, max); !s.ok()) return s;
  if (*min <= *max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(op, ": attribute '", min_name, "' is ", *min,
                                                 " and '", max_name, "' is ", *max, ", expected ",
                                                 min_name, " <= ", max_name));
}

// A functor reads its members with it (elementwise.h). The status is that of the first attribute
// that is wrong.
template <typename Context>
class AttributeReader {
 public:
  AttributeReader(Context* context, std::string op) : context_(context), op_(std::move(op)) {}

  const absl::Status& status() const { return status_; }

  // An attribute of any value.
  template <typename T>
  void Get(const char* name, T* value) {
    status_.Update(context_->GetAttr(name, value));
  }
  // The same as the functions above.
  void Finite(const char* name, float* value) {
    status_.Update(GetFiniteAttr(context_, op_.c_str(), name, value));
  }
  void Positive(const char* name, float* value) {
    status_.Update(GetPositiveAttr(context_, op_.c_str(), name, value));
  }
  void NonNegative(const char* name, float* value) {
    status_.Update(GetNonNegativeAttr(context_, op_.c_str(), name, value));
  }
  void Range(const char* min_name, float* min, const char* max_name, float* max) {
    status_.Update(GetRangeAttrs(context_, op_.c_str(), min, max, min_name, max_name));
  }

 private:
  Context* const context_;
  const std::string op_;
  absl::Status status_;
};

// True if a functor has a function Read.
template <typename Functor, typename Context, typename = void>
constexpr bool kReadsAttributes = false;
template <typename Functor, typename Context>
constexpr bool kReadsAttributes<Functor, Context,
                                std::void_t<decltype(std::declval<Functor&>().Read(
                                    std::declval<AttributeReader<Context>&>()))>> = true;

// Sets the members of a functor to the attributes of an op.
template <typename Functor, typename Context>
absl::Status ReadMembers(Context* context, std::string op, Functor* functor) {
  if constexpr (kReadsAttributes<Functor, Context>) {
    AttributeReader<Context> reader(context, std::move(op));
    functor->Read(reader);
    return reader.status();
  } else {
    static_assert(std::is_empty_v<Functor>, "a functor with members needs a function Read");
    return absl::OkStatus();
  }
}

}  // namespace tensorflow_ext
