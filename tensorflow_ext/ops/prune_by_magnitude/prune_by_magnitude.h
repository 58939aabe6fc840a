// Pruning by magnitude and its masked derivative, for host and device.

#pragma once

#include <cmath>

#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// True if a weight is pruned. NaN is not pruned, so it stays visible.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE bool IsPruned(T weight, double threshold) {
  return std::abs(weight) < T(threshold);
}

// The weight where abs(weight) >= threshold, else 0.
struct PruneByMagnitude {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T weight) const {
    return IsPruned(weight, threshold) ? T(0) : weight;
  }

  double threshold;  // exact in T
};

// The upstream gradient where the weight is kept, else 0.
struct PruneByMagnitudeGrad {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T weight) const {
    return IsPruned(weight, threshold) ? T(0) : gradient;
  }

  double threshold;
};

}  // namespace tensorflow_ext
