// SPDX-License-Identifier: Apache-2.0
//
// The Mish activation and its derivative, for host, device and XLA.

#ifndef TENSORFLOW_EXT_OPS_MISH_MISH_H_
#define TENSORFLOW_EXT_OPS_MISH_MISH_H_

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// tanh(softplus(x)) and its derivative. No logarithm: with e = e^x they are
//
//   (e^2 + 2e) / (e^2 + 2e + 2)   and   4e (e + 1) / (e^2 + 2e + 2)^2,
//
// here for w = e^-|x|, which does not overflow, and for x > 0 multiplied above
// and below by w^2 and w^4.
template <typename T>
struct TanhOfSoftplus {
  T value;
  T slope;
};
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE TanhOfSoftplus<T> MishGate(T x) {
  const T w = ExpOfMinus(Abs(x));
  const T square = w * w;
  const T twice = w + w;
  const T above = Where(x < T(0), square + twice, T(1) + twice);
  const T below = above + Where(x < T(0), T(2), square + square);
  const T rise = Where(x < T(0), w, square) * (w + T(1));
  const T inverse = T(1) / below;
  return {above * inverse, T(4) * rise * (inverse * inverse)};
}

// x tanh(softplus(x)).
struct Mish {
  static constexpr int kArity = 1;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    return Gated(x, MishGate(x).value);
  }
};

struct MishGrad {
  static constexpr int kArity = 2;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const TanhOfSoftplus<T> gate = MishGate(x);
    return gradient * (gate.value + Gated(x, gate.slope));
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_MISH_MISH_H_
