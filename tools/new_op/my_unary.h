// MyUnary and its derivative, for host, device and XLA.

#pragma once

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// x^3.
struct MyUnary {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    return x * x * x;
  }
};

// The upstream gradient times the derivative.
struct MyUnaryGrad {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    return gradient * (T(3) * (x * x));
  }
};

}  // namespace tensorflow_ext

#define TENSORFLOW_EXT_MY_UNARY(OP) \
  OP("TfExt>MyUnary", MyUnary)      \
  OP("TfExt>MyUnaryGrad", MyUnaryGrad)
