// Snake, x + sin(f x)^2 / f, and its gradient, for host, device and XLA.
//
// sin(f x) / f is x sin(t) / t with t = f x. So nothing cancels where t is small, and f = 0 gives
// the limits. The roundoff of t moves y by no more than that of x, because sin(t)^2 / f changes by
// at most x dt / t.

#pragma once

#include <cmath>

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/trigonometric.h"

namespace tensorflow_ext {

// sin(t) / f.
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE C SnakeRatio(C x, C t, C sine) {
  return x * Where(t == C(0), C(1), sine / t);
}

struct Snake {
  static constexpr int kArity = 2;
  static constexpr bool kBroadcasts = true;
  static constexpr int kCost = 6;
  static constexpr bool kTakesAngles = true;

  template <typename C>
  TENSORFLOW_EXT_HOST_DEVICE C operator()(C x, C frequency) const {
    const C t = frequency * x;
    const C sine = Sin(t);
    // The wave is at most 1 / f high. x / t does not show this where t is infinite.
    const C wave = SnakeRatio(x, t, sine) * sine;
    return x + Where(Abs(t) == C(INFINITY), C(0), wave);
  }
};

// dy (1 + sin(2t)) and dy x^2 (t sin(2t) - sin(t)^2) / t^2.
struct SnakeGrad {
  static constexpr int kArity = 3;
  static constexpr bool kBroadcasts = true;
  static constexpr int kCost = 8;
  static constexpr bool kTakesAngles = true;

  template <typename C>
  TENSORFLOW_EXT_HOST_DEVICE Pair<C> operator()(C gradient, C x, C frequency) const {
    const C t = frequency * x;
    const auto [sine, cosine] = SinCos(t);
    const C ratio = SnakeRatio(x, t, sine);
    const C sum = sine + cosine;  // its square is 1 + sin(2t)
    return {gradient * (sum * sum), gradient * (ratio * (C(2) * x * cosine - ratio))};
  }
};

}  // namespace tensorflow_ext

#define TENSORFLOW_EXT_SNAKE(OP) \
  OP("TfExt>Snake", Snake)       \
  OP("TfExt>SnakeGrad", SnakeGrad)
