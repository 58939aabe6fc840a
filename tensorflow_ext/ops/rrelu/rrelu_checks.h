// Checks that the shape functions, kernels and lowerings of Rrelu and RreluGrad share.

#pragma once

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/attributes.h"

namespace tensorflow_ext {

// The bounds of the slopes. `Context` is as in kernels/attributes.h.
template <typename Context>
absl::Status GetSlopeBounds(Context* context, const char* op, float* lower, float* upper) {
  for (absl::Status s :
       {GetFiniteAttr(context, op, "lower", lower), GetFiniteAttr(context, op, "upper", upper),
        GetRangeAttrs(context, op, lower, upper, "lower", "upper")}) {
    if (!s.ok()) return s;
  }
  if (std::isfinite(*upper - *lower)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": attribute 'lower' is ", *lower, " and 'upper' is ", *upper,
                   ", expected bounds whose difference is a finite float"));
}

inline absl::Status SeedShapeError(absl::string_view op, absl::string_view shape,
                                   absl::string_view x) {
  return ShapeError(op, "seed", shape,
                    absl::StrCat("[2], or the first sizes of 'x', ", x, ", and then 2"));
}

// Checks the shape of a seed: [2] for all of x, or one seed for each slice of x along its first
// dimensions.
inline absl::Status CheckSeedShape(absl::string_view op, const tensorflow::TensorShape& x,
                                   const tensorflow::TensorShape& seed) {
  const int slices = seed.dims() - 1;
  bool fits = slices >= 0 && slices <= x.dims() && seed.dim_size(slices) == 2;
  for (int i = 0; fits && i < slices; ++i) {
    fits = seed.dim_size(i) == x.dim_size(i);
  }
  if (fits) return absl::OkStatus();
  return SeedShapeError(op, seed.DebugString(), x.DebugString());
}

// The same for sizes that may be unknown.
inline absl::Status InferSeedShape(tensorflow::shape_inference::InferenceContext* c,
                                   absl::string_view op, tensorflow::shape_inference::ShapeHandle x,
                                   int seed_index) {
  const auto seed = c->input(seed_index);
  if (!c->RankKnown(seed)) return absl::OkStatus();
  const int slices = c->Rank(seed) - 1;
  bool fits = slices >= 0 && (!c->RankKnown(x) || slices <= c->Rank(x));
  if (fits) {
    tensorflow::shape_inference::DimensionHandle merged;
    fits = c->WithValue(c->Dim(seed, slices), 2, &merged).ok();
    for (int i = 0; fits && c->RankKnown(x) && i < slices; ++i) {
      fits = c->Merge(c->Dim(seed, i), c->Dim(x, i), &merged).ok();
    }
  }
  if (fits) return absl::OkStatus();
  return SeedShapeError(op, c->DebugString(seed), c->DebugString(x));
}

}  // namespace tensorflow_ext
