// MyBinary and its derivatives, for host, device and XLA.

#pragma once

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/elementary.h"

namespace tensorflow_ext {

// x^2 y^2.
struct MyBinary {
  static constexpr int kArity = 2;
  static constexpr bool kBroadcasts = true;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x, T y) const {
    return (x * x) * (y * y);
  }
};

// The upstream gradient times the derivatives by x and by y.
struct MyBinaryGrad {
  static constexpr int kArity = 3;
  static constexpr bool kBroadcasts = true;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE Pair<T> operator()(T gradient, T x, T y) const {
    return {gradient * (T(2) * (x * (y * y))), gradient * (T(2) * ((x * x) * y))};
  }
};

}  // namespace tensorflow_ext

#define TENSORFLOW_EXT_MY_BINARY(OP) \
  OP("TfExt>MyBinary", MyBinary)     \
  OP("TfExt>MyBinaryGrad", MyBinaryGrad)
