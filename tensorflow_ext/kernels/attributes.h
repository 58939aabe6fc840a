// SPDX-License-Identifier: Apache-2.0
//
// Attributes with a constraint that an OpDef cannot express. `Context` is an InferenceContext or an
// OpKernelConstruction, so the shape function and every kernel make the same check. Errors are
// InvalidArgument and name the op, the attribute, its value and what was expected.

#ifndef TENSORFLOW_EXT_KERNELS_ATTRIBUTES_H_
#define TENSORFLOW_EXT_KERNELS_ATTRIBUTES_H_

#include <cmath>

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

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_ATTRIBUTES_H_
