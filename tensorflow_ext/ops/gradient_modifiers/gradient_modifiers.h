// The arithmetic of the gradient modifiers, for host, device and XLA, and one table row for each op
// that has elementwise kernels (elementwise.h).

#pragma once

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// factor * x.
struct Scale {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    return T(factor) * x;
  }

  float factor;

  template <typename Reader>
  void Read(Reader& reader) {
    reader.Finite("factor", &factor);
  }
};

// The attributes of Clip and ClipGrad.
struct ClipBounds {
  float min, max;

  template <typename Reader>
  void Read(Reader& reader) {
    reader.Range("min", &min, "max", &max);
  }
};

// The nearest number in [min, max]; NaN stays NaN.
struct Clip : ClipBounds {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T at_least_min = Where(x < T(min), T(min), x);
    return Where(at_least_min > T(max), T(max), at_least_min);
  }
};

// The upstream gradient where min <= x <= max, else 0 (also if x is NaN).
struct ClipGrad : ClipBounds {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const T above = Where(x >= T(min), gradient, T(0));
    return Where(x <= T(max), above, T(0));
  }
};

// 1, 0 or -1; NaN stays NaN, and zero keeps its sign.
struct SignStraightThrough {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T positive_or_x = Where(x > T(0), T(1), x);
    return Where(x < T(0), T(-1), positive_or_x);
  }

  // Checks the attribute, which only the gradient uses.
  template <typename Reader>
  void Read(Reader& reader) const {
    float clip;
    reader.Positive("clip", &clip);
  }
};

// The upstream gradient where |x| <= clip, else 0 (also if x is NaN).
struct SignStraightThroughGrad {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    return Where(Abs(x) <= T(clip), gradient, T(0));
  }

  float clip;

  template <typename Reader>
  void Read(Reader& reader) {
    reader.Positive("clip", &clip);
  }
};

// The nearest integer. Ties go to the even one.
struct RoundStraightThrough {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    return RoundToEven(x);
  }
};

}  // namespace tensorflow_ext

#define TENSORFLOW_EXT_GRADIENT_MODIFIERS(OP)                  \
  OP("TfExt>Scale", Scale)                                     \
  OP("TfExt>Clip", Clip)                                       \
  OP("TfExt>ClipGrad", ClipGrad)                               \
  OP("TfExt>SignStraightThrough", SignStraightThrough)         \
  OP("TfExt>SignStraightThroughGrad", SignStraightThroughGrad) \
  OP("TfExt>RoundStraightThrough", RoundStraightThrough)
