// The randomized leaky rectified linear unit (B. Xu et al., "Empirical Evaluation of Rectified
// Activations in Convolutional Network", arXiv:1505.00853), for host, device and XLA: the
// computation of an element's slope from a seed and the element's index, and the loops.

#pragma once

#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/threefry.h"

namespace tensorflow_ext {

// The key of the slopes of a seed of two numbers, given by their lower and upper halves. All 128
// bits count.
template <typename Word>
Pair<Word> SlopeKey(const Pair<Word>& lower, const Pair<Word>& upper) {
  return Threefry(lower, upper);
}
inline Pair<uint32_t> SlopeKey(int64_t first, int64_t second) {
  const uint64_t a = first, b = second;
  return SlopeKey<uint32_t>({static_cast<uint32_t>(a), static_cast<uint32_t>(b)},
                            {static_cast<uint32_t>(a >> 32), static_cast<uint32_t>(b >> 32)});
}

// Slopes uniform in [lower, upper], of the type C. The roundings are those of a sum and then a
// product. Some compilers contract a product and then a sum; this order prevents that, so all give
// the same bits. T is C or XlaNumber<C>.
template <typename C>
struct SlopeRange {
  SlopeRange(float from, float to)
      : lower(from),
        upper(to),
        width(static_cast<C>(double{to} - from)),
        offset(to > from ? static_cast<C>(from / (double{to} - from)) : C(0)) {}

  // The slope for a number uniform in [0, 1).
  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T uniform) const {
    const T slope = (uniform + T(offset)) * T(width);
    const T at_least = Where(slope < T(lower), T(lower), slope);
    return Where(at_least > T(upper), T(upper), at_least);
  }

  C lower, upper, width, offset;
};

// The value where x >= 0, else the value times the slope.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T LeakValue(T slope, T value, T x) {
  return Where(x >= T(0), value, slope * value);
}

// The counter of the random bits of elements 2 pair and 2 pair + 1. Its upper half is below 2^31.
TENSORFLOW_EXT_HOST_DEVICE Pair<uint32_t> CounterOfPair(int64_t pair) {
  const uint64_t bits = static_cast<uint64_t>(pair);
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
}
// Marks the counter of the extra bits of type double.
constexpr uint32_t kMoreBits = uint32_t{1} << 31;

// The first bits of a word as a number in [0, 1). The conversion uses a signed integer, because
// vector instructions convert those.
template <typename C, int kBits>
TENSORFLOW_EXT_HOST_DEVICE C Fraction(uint32_t word) {
  return static_cast<C>(static_cast<int32_t>(word >> (32 - kBits))) * (C(1) / (1 << kBits));
}

// The two elements' numbers, uniform in [0, 1). They have 24 bits for type float and 53 for type
// double, which start with these 24. No step rounds.
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE Pair<C> UniformPair(Pair<uint32_t> key, Pair<uint32_t> counter) {
  const Pair<uint32_t> words = Threefry(key, counter);
  if constexpr (std::is_same_v<C, float>) {
    return {Fraction<C, 24>(words.first), Fraction<C, 24>(words.second)};
  } else {
    counter.second |= kMoreBits;
    const Pair<uint32_t> more = Threefry(key, counter);
    constexpr C kUnit = C(1) / (1 << 27);
    return {Fraction<C, 27>(words.first) + Fraction<C, 26>(more.first) * kUnit,
            Fraction<C, 27>(words.second) + Fraction<C, 26>(more.second) * kUnit};
  }
}

// The data of an element's slope besides its index: lower <= upper, finite.
struct Slopes {
  float lower, upper;
  Pair<uint32_t> key;
};

// output[i] = values[i] where x[i] >= 0, else values[i] times the slope of element i, for i in
// [begin, end). With values = x this is the unit; with values = upstream gradients it is the
// gradient. Arrays have the floating-point type `type`. `output` may be one of the others. A loop
// processes blocks of kRreluBlock elements; `begin` is a multiple of it.
constexpr int kRreluBlock = 64;
void RunRrelu(NumericType type, Slopes slopes, const void* values, const void* x, void* output,
              int64_t begin, int64_t end);

// The same for i in [0, size), with arrays in device memory, in order on `stream`, a cudaStream_t.
// Returns the launch's cudaError_t. If size is 0, it launches nothing.
int LaunchRrelu(NumericType type, const Slopes& slopes, const void* values, const void* x,
                void* output, int64_t size, void* stream);

}  // namespace tensorflow_ext
