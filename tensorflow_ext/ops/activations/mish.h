// SPDX-License-Identifier: Apache-2.0
//
// The Mish activation and its derivative, for host, device and XLA.

#ifndef TENSORFLOW_EXT_OPS_ACTIVATIONS_MISH_H_
#define TENSORFLOW_EXT_OPS_ACTIVATIONS_MISH_H_

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// tanh(softplus(x)) = above / below and its derivative rise / below^2. No
// logarithm: with e = e^x they are
//
//   (e^2 + 2e) / (e^2 + 2e + 2)   and   4e (e + 1) / (e^2 + 2e + 2)^2,
//
// here for w = e^-|x|, which does not overflow, and for x > 0 multiplied above
// and below by w^2 and w^4.
template <typename T>
struct TanhOfSoftplus {
  T above, rise, below;
};
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE TanhOfSoftplus<T> MishGate(T x) {
  const T w = ExpOfMinus(Abs(x));
  const T twice = w + w, square = w * w, squares = square + square;
  const T above = Where(x < T(0), square, T(1)) + twice;
  const T rise = Where(x < T(0), twice, squares) * (twice + T(2));
  return {above, rise, above + Where(x < T(0), T(2), squares)};
}

// x tanh(softplus(x)).
struct Mish {
  static constexpr int kArity = 1;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const TanhOfSoftplus<T> gate = MishGate(x);
    return Gated(x, gate.above / gate.below, kExpLimit<T>);
  }
};

struct MishGrad {
  static constexpr int kArity = 2;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const TanhOfSoftplus<T> gate = MishGate(x);
    const T inverse = T(1) / gate.below;
    const T rise = Sloped(x, gate.rise, kExpLimit<T>);
    return gradient * ((gate.above + rise * inverse) * inverse);
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_ACTIVATIONS_MISH_H_
