// Sparsemax of the rows of a matrix, and its gradient, without TensorFlow headers (A. F. T. Martins
// and R. F. Astudillo, "From Softmax to Sparsemax: A Sparse Model of Attention and Multi-Label
// Classification", arXiv:1602.02068): the Euclidean projection of a row x onto the probability
// simplex,
//
//   y = max(x - t, 0)    where the threshold t is such that    sum(y) = 1.
//
// t is the root of a falling, convex and piecewise linear function. Newton's method reaches it from
// the left, starting at max(x) - 1, in a few steps and without sorting (C. Michelot, "A Finite
// Algorithm for Finding the Projection of a Point onto the Canonical Simplex of R^n", Journal of
// Optimization Theory and Applications 50, 1986; L. Condat, "Fast Projection onto the Simplex and
// the l1 Ball", Mathematical Programming 158, 2016). Each step adds (s - 1) / k, where k is the
// number of elements above t and s is the sum of their excess over t.
//
// With S the elements where y > 0, the gradient of x is
//
//   dx = dy - mean(dy over S) on S, else 0.
//
// A row with NaN or infinity in it, or of -infinity alone, has no projection: y is NaN throughout,
// and so is dx. -infinity beside finite elements gives 0. The 16-bit types are computed in float.

#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/rows.h"

namespace tensorflow_ext {

// A double-word number, the unevaluated sum of two numbers. As a threshold t it makes x - t
// accurate to the last bits for any size of x. V is a number or an XlaOp.
template <typename V>
struct DoubleWord {
  V high, low;

  TENSORFLOW_EXT_HOST_DEVICE void Add(V term) {
    // The sum of two numbers and its rounding error: D. E. Knuth, "The Art of Computer
    // Programming", volume 2, 4.2.2, theorem B.
    const V tail = low + term;
    const V sum = high + tail;
    const V shift = sum - high;
    low = (high - (sum - shift)) + (tail - shift);
    high = sum;
  }

  // max(x - t, 0), or NaN, of a number or of a vector in *excess.
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
  // If the sum of excesses is this close to 1, the threshold is right.
  static constexpr C kSmall = 4 * std::numeric_limits<C>::epsilon();
  // A bound of the relative error of such a sum, for each way to compute it.
  static constexpr C kError = 4 * kSmall;

  C most;
  DoubleWord<C> threshold;
  C residual;

  TENSORFLOW_EXT_HOST_DEVICE explicit ThresholdSearch(C most_of_row)
      : most(most_of_row), threshold{most_of_row, 0}, residual(kInfinity) {
    threshold.Add(-1);
  }

  // One step. `too_much` is the sum of the `count` excesses over the threshold, minus 1. Returns
  // true if the search must continue.
  TENSORFLOW_EXT_HOST_DEVICE bool Step(C too_much, C count) {
    const C before = residual;
    residual = std::abs(too_much);
    // The largest element of y is 1 / count or more. If errors of the sum could move the threshold
    // beyond it, the steps fall short.
    const C shortfall = count * kError < C(0.25) ? C(0) : kError;
    // If the residual is large, the set of elements above may have changed.
    const bool goes_on = residual < before && residual > kSmall + 2 * shortfall;
    if (goes_on) too_much -= shortfall * (too_much + 1);
    threshold.Add(too_much / count);
    return goes_on;
  }
};

// The contribution of an element of y to the size of S: 1 if it is in S, NaN if it is NaN, which
// makes the row's size NaN. X is a number or a vector.
template <typename X>
TENSORFLOW_EXT_HOST_DEVICE void CountInSupport(const X& y, X* count) {
  const X zero{};
  *count = y > zero ? zero + 1 : (y == y ? zero : y);
}

// The value of the gradient outside S. `count` is the size of S or NaN.
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE C BeyondSupport(C count) {
  return count == count ? C(0) : count;
}

// Tensors have type T and shape [rows, size]. y may be logits, and backprops may be gradients.
struct CpuSparsemax {
  // Computes rows [begin, end).
  static void Forward(NumericType type, const RowDims& dims, const void* logits, void* y,
                      int64_t begin, int64_t end);
  static void Backward(NumericType type, const RowDims& dims, const void* gradients, const void* y,
                       void* backprops, int64_t begin, int64_t end);
};

// These process all rows, in device memory, in order on `stream`; see kernels/launch.h. No atomics,
// so the bits are the same every time.
struct GpuSparsemax {
  static int Forward(NumericType type, const RowDims& dims, const void* logits, void* y,
                     void* stream);
  static int Backward(NumericType type, const RowDims& dims, const void* gradients, const void* y,
                      void* backprops, void* stream);
};

}  // namespace tensorflow_ext
