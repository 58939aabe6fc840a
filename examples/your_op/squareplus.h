// The arithmetic of squareplus, once for the CPU, CUDA and XLA.

#pragma once

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"

namespace your {

using tensorflow_ext::Sqrt;
using tensorflow_ext::Where;

// y = (x + sqrt(x^2 + b)) / 2. For negative x, where the sum cancels, it
// is computed as a quotient. After J. T. Barron, "Squareplus: A
// Softplus-Like Algebraic Rectifier", arXiv:2112.11687.
struct Squareplus {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T root = Sqrt(x * x + T(b));
    return Where(x < T(0), T(b) / (root - x), x + root) * T(0.5);
  }

  float b;
};

// dy/dx = y / sqrt(x^2 + b).
struct SquareplusGrad {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    return gradient * (Squareplus{b}(x) / Sqrt(x * x + T(b)));
  }

  float b;
};

}  // namespace your

#define YOUR_OPS(OP)                      \
  OP("Your>Squareplus", your::Squareplus) \
  OP("Your>SquareplusGrad", your::SquareplusGrad)
