// SPDX-License-Identifier: Apache-2.0
//
// Sparsemax of the rows of a matrix, and its gradient, without any TensorFlow
// header (A. F. T. Martins and R. F. Astudillo, "From Softmax to Sparsemax: A
// Sparse Model of Attention and Multi-Label Classification", arXiv:1602.02068):
// the Euclidean projection of a row x onto the probability simplex,
//
//   y = max(x - t, 0)    where the threshold t is such that    sum(y) = 1.
//
// t is the root of a function that falls, convex and in straight pieces.
// Newton's method reaches it from the left, from max(x) - 1 on, in a few steps
// and without sorting (C. Michelot, "A Finite Algorithm for Finding the
// Projection of a Point onto the Canonical Simplex of R^n", Journal of
// Optimization Theory and Applications 50, 1986; L. Condat, "Fast Projection
// onto the Simplex and the l1 Ball", Mathematical Programming 158, 2016): each
// adds (s - 1) / k, where s is the sum of the k elements' excess over t that
// lie above it.
//
// With S the elements where y > 0, the gradient of x is
//
//   dx = dy - mean(dy over S) on S, else 0.
//
// A row with NaN or infinity in it, or of -infinity alone, has no projection: y
// is NaN throughout, and so is dx. -infinity beside finite elements gives 0.
// The 16-bit types are computed in float.

#ifndef TENSORFLOW_EXT_OPS_SPARSEMAX_SPARSEMAX_H_
#define TENSORFLOW_EXT_OPS_SPARSEMAX_SPARSEMAX_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/rows.h"

namespace tensorflow_ext {

// A double-word number, the unevaluated sum of two: as a threshold t it makes
// x - t accurate to the last bits however large x is. V is a number, or an
// XlaOp.
template <typename V>
struct DoubleWord {
  V high, low;

  TENSORFLOW_EXT_HOST_DEVICE void Add(V term) {
    // D. E. Knuth, "The Art of Computer Programming", volume 2, 4.2.2, theorem
    // B: the sum of two numbers and its rounding error.
    const V tail = low + term;
    const V sum = high + tail;
    const V shift = sum - high;
    low = (high - (sum - shift)) + (tail - shift);
    high = sum;
  }

  // max(x - t, 0), NaN where x - t is; of a number, or of a vector in *excess.
  template <typename X>
  TENSORFLOW_EXT_HOST_DEVICE void Excess(const X& x, X* excess) const {
    const X zero{};
    *excess = (x - high) - low;
    *excess = *excess <= zero ? zero : *excess;
  }
  TENSORFLOW_EXT_HOST_DEVICE V Excess(V x) const {
    Excess(x, &x);
    return x;
  }
};

// The search for the threshold of one row, whose largest element is `most`.
template <typename C>
struct ThresholdSearch {
  static constexpr C kInfinity = std::numeric_limits<C>::infinity();
  // A sum of excesses that is so near to 1 has the right threshold.
  static constexpr C kSmall = 4 * std::numeric_limits<C>::epsilon();
  // More than the relative error of such a sum, for each of the ways in which
  // it is computed.
  static constexpr C kError = 4 * kSmall;

  C most;
  DoubleWord<C> threshold;
  C residual;

  TENSORFLOW_EXT_HOST_DEVICE explicit ThresholdSearch(C most_of_row)
      : most(most_of_row), threshold{most_of_row, 0}, residual(kInfinity) {
    threshold.Add(-1);
  }

  // One step. `too_much` is what the excesses over the threshold sum up to,
  // less 1, and `count` how many they are. Returns whether to go on.
  TENSORFLOW_EXT_HOST_DEVICE bool Step(C too_much, C count) {
    const C before = residual;
    residual = std::abs(too_much);
    // y has a largest element of 1 / count or more. Where a sum's errors could
    // carry the threshold past that, the steps fall short.
    const C shortfall = count * kError < C(0.25) ? C(0) : kError;
    // Where there is much to do, the set of elements above may have changed.
    const bool goes_on = residual < before && residual > kSmall + 2 * shortfall;
    if (goes_on) too_much -= shortfall * (too_much + 1);
    threshold.Add(too_much / count);
    return goes_on;
  }
};

// What an element of y counts in the size of S: 1 if it is in S, and NaN if it
// is, which makes that of the row NaN. Of a number, or of a vector.
template <typename X>
TENSORFLOW_EXT_HOST_DEVICE void CountInSupport(const X& y, X* count) {
  const X zero{};
  *count = y > zero ? zero + 1 : (y == y ? zero : y);
}

// What a row of the gradient has where it is not in S, `count` being the size
// of S or NaN.
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE C BeyondSupport(C count) {
  return count == count ? C(0) : count;
}

// Tensors of type T and shape [rows, size]; y may be logits and backprops may
// be gradients.
struct CpuSparsemax {
  // Rows [begin, end).
  static void Forward(NumericType type, const RowDims& dims, const void* logits,
                      void* y, int64_t begin, int64_t end);
  static void Backward(NumericType type, const RowDims& dims,
                       const void* gradients, const void* y, void* backprops,
                       int64_t begin, int64_t end);
};

// All rows, of tensors in device memory, in order on `stream`; see
// kernels/launch.h. No atomics: the same bits every time.
struct GpuSparsemax {
  static int Forward(NumericType type, const RowDims& dims, const void* logits,
                     void* y, void* stream);
  static int Backward(NumericType type, const RowDims& dims,
                      const void* gradients, const void* y, void* backprops,
                      void* stream);
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_SPARSEMAX_SPARSEMAX_H_
