// The arithmetic of ClipByGlobalNorm and its gradient, for host and device, and the interface of
// their loops.
//
// All sums, and all products of a value with a factor, are in double, where squares of floats
// neither overflow nor vanish. Squares of doubles are summed in three ranges of magnitude, each
// with its own scale (J. L. Blue, "A portable Fortran program to find the Euclidean norm of a
// vector", ACM TOMS 4, 1978). XLA sums a few floats at a time in such a scale.

#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

// ----- Sums over the values -----

// The ranges of magnitude: the middle one, values above kLarge, which are multiplied by kDown, and
// values below kSmall, which are multiplied by kUp.
constexpr int kMiddle = 0, kAbove = 1, kBelow = 2;
constexpr double kLarge = 0x1p500, kSmall = 0x1p-500;
constexpr double kDown = 0x1p-600, kUp = 0x1p600;

template <typename T>
constexpr int kRanges = std::is_same_v<T, double> ? 3 : 1;

// Sums over some of the values v and their upstream gradients g, by range.
struct NormSums {
  double squares[3];   // of v * v
  double products[3];  // of v * g
};

// The number of sums for values of type T.
template <typename T, bool kProducts>
constexpr int kNormSums = kRanges<T> * (kProducts ? 2 : 1);

// The terms that a value v with gradient g adds to the sums: squares by range, then products by
// range. V is double or a vector of doubles.
template <typename T, bool kProducts, typename V>
TENSORFLOW_EXT_HOST_DEVICE void NormTerms(const V& v, const V& g, V* terms) {
  if constexpr (kRanges<T> == 1) {
    terms[0] = v * v;
    if constexpr (kProducts) terms[1] = v * g;
  } else {
    const V magnitude = v < 0.0 ? -v : v;
    const auto above = magnitude > kLarge, below = magnitude < kSmall;
    const auto outside = above | below;  // NaN is in the middle range.
    const V scaled = v * (above ? kDown : below ? kUp : 1.0);
    const V square = scaled * scaled;
    terms[kMiddle] = outside ? 0.0 : square;
    terms[kAbove] = above ? square : 0.0;
    terms[kBelow] = below ? square : 0.0;
    if constexpr (kProducts) {
      const V product = scaled * g;
      terms[3 + kMiddle] = outside ? 0.0 : product;
      terms[3 + kAbove] = above ? product : 0.0;
      terms[3 + kBelow] = below ? product : 0.0;
    }
  }
}

// The sums of the terms of NormTerms, by name.
template <typename T, bool kProducts>
TENSORFLOW_EXT_HOST_DEVICE NormSums ToNormSums(const double* sums) {
  NormSums result = {};
  for (int r = 0; r < kRanges<T>; ++r) {
    result.squares[r] = sums[r];
    if constexpr (kProducts) result.products[r] = sums[kRanges<T> + r];
  }
  return result;
}

struct GlobalNorm {
  double norm;        // sqrt(sum of v * v)
  double projection;  // sum of v * g / norm; 0 if norm is 0
};

// Combines the two largest ranges that occur. Anything smaller does not count.
TENSORFLOW_EXT_HOST_DEVICE GlobalNorm ToGlobalNorm(const NormSums& sums) {
  if (sums.squares[kAbove] != 0) {
    const double root = std::sqrt(sums.squares[kAbove] + sums.squares[kMiddle] * kDown * kDown);
    const double product = sums.products[kAbove] + sums.products[kMiddle] * kDown;
    return {root * kUp, product / root};
  }
  if (sums.squares[kMiddle] != 0) {
    const double root = std::sqrt(sums.squares[kMiddle] + sums.squares[kBelow] * kDown * kDown);
    const double product = sums.products[kMiddle] + sums.products[kBelow] * kDown;
    return {root, product / root};
  }
  if (sums.squares[kBelow] != 0) {
    const double root = std::sqrt(sums.squares[kBelow]);
    return {root * kDown, sums.products[kBelow] / root};
  }
  return {0, 0};
}

// ----- Factors of the values -----

// The factor of the values for c = clip_norm and n = norm: min(1, c / n). It is NaN where n is not
// finite, as in tf.clip_by_global_norm.
TENSORFLOW_EXT_HOST_DEVICE double ClipScale(double norm, double clip_norm) {
  return (norm > clip_norm ? clip_norm / norm : 1.0) + (norm - norm);
}

// The gradient of value v with upstream gradient g: scale * g + along * v.
struct ClipGradFactors {
  double scale;
  double along;
  double clip_norm;  // the gradient of clip_norm
};

// With the projection p and the upstream gradient d of the norm: where n > c, s = c / n and the
// results are
//
//   s g + v / n (d - s p)    and    p, the gradient of c.
//
// Elsewhere they are g + v / n d and 0. v / n is 0 where n is 0.
TENSORFLOW_EXT_HOST_DEVICE ClipGradFactors MakeClipGradFactors(const GlobalNorm& global,
                                                               double clip_norm,
                                                               double norm_gradient) {
  const double norm = global.norm, scale = ClipScale(norm, clip_norm);
  const double nan_or_zero = norm - norm;
  if (norm > clip_norm) {
    return {scale, (norm_gradient - scale * global.projection) / norm,
            global.projection + nan_or_zero};
  }
  return {scale, norm == 0 ? 0 : norm_gradient / norm, nan_or_zero};
}

TENSORFLOW_EXT_HOST_DEVICE double ClipGradValue(double gradient, double value,
                                                const ClipGradFactors& f) {
  return f.scale * gradient + f.along * value;
}

// ----- Units of work -----

// A unit is at most this many elements of one tensor. Each unit has its own sums. They are added in
// order, so the result does not depend on the number of threads.
constexpr int64_t kUnitSize = 16384;

TENSORFLOW_EXT_HOST_DEVICE int64_t UnitsOf(int64_t size) {
  return size / kUnitSize + (size % kUnitSize != 0);
}

// Adds `sums` of a unit to `total`.
TENSORFLOW_EXT_HOST_DEVICE void AddUnit(const NormSums& sums, NormSums* total) {
  for (int r = 0; r < 3; ++r) {
    total->squares[r] += sums.squares[r];
    total->products[r] += sums.products[r];
  }
}

// ----- Loops over one unit, on the CPU -----
// They process `size` elements of `type`. An output may be one of the inputs.

// If `gradients` is null, the products are 0.
NormSums NormSumsCpu(NumericType type, const void* values, const void* gradients, int64_t size);

// outputs = scale * values.
void ScaleValuesCpu(NumericType type, const void* values, double scale, void* outputs,
                    int64_t size);

// outputs = ClipGradValue(gradients, values, factors).
void ClipGradValuesCpu(NumericType type, const void* gradients, const void* values,
                       const ClipGradFactors& factors, void* outputs, int64_t size);

// ----- Launchers (launch.h) -----

// `count` tensors in device memory. The arrays are in host memory. An output may be the value or
// the gradient of the same index.
struct ClipTensors {
  int64_t count;
  const int64_t* sizes;
  const void* const* values;
  const void* const* gradients;  // null in the forward op
  void* const* outputs;
};

inline int64_t TotalUnits(const ClipTensors& tensors) {
  int64_t units = 0;
  for (int64_t i = 0; i < tensors.count; ++i) {
    units += UnitsOf(tensors.sizes[i]);
  }
  return units;
}

// outputs = values * ClipScale, and the norm, of `type`. `sums` (TotalUnits elements) and `factors`
// (one element) are scratch in device memory.
int LaunchClipByGlobalNorm(NumericType type, const ClipTensors& tensors, double clip_norm,
                           NormSums* sums, ClipGradFactors* factors, void* norm, void* stream);

// The gradients of values and of clip_norm. `norm_gradient` is in device memory too.
int LaunchClipByGlobalNormGrad(NumericType type, const ClipTensors& tensors,
                               const void* norm_gradient, double clip_norm, NormSums* sums,
                               ClipGradFactors* factors, void* clip_norm_backprop, void* stream);

}  // namespace tensorflow_ext
