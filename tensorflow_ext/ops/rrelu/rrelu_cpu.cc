#include <algorithm>
#include <type_traits>

#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/rrelu/rrelu.h"

namespace tensorflow_ext {
namespace {

// The slopes of the block of elements that starts at `begin`. The block is full even where the
// tensor ends, so no tail is computed one by one. The counters of its pairs have the same upper
// word.
template <typename C>
TENSORFLOW_EXT_INLINE void DrawSlopes(SlopeRange<C> range, Pair<uint32_t> key, int64_t begin,
                                      C* slopes) {
  const Pair<uint32_t> first = CounterOfPair(begin / 2);
  for (uint32_t pair = 0; pair < kRreluBlock / 2; ++pair) {
    const Pair<C> uniform = UniformPair<C>(key, {first.first + pair, first.second});
    slopes[2 * pair] = range(uniform.first);
    slopes[2 * pair + 1] = range(uniform.second);
  }
}

// kOfItself: x is also `values`.
template <typename T, bool kOfItself>
struct RreluLoop {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(Slopes of, const T* values, const T* x, T* output,
                                        int64_t begin, int64_t end) {
    using C = ComputeType<T>;
    constexpr bool kConverts = !std::is_same_v<T, C>;
    constexpr int64_t kBlock = kRreluBlock;
    const SlopeRange<C> range(of.lower, of.upper);
    const bool draws = of.lower != of.upper;
    C slopes[kBlock], wide_x[kBlock], wide[kBlock];
    std::fill_n(slopes, kBlock, range.lower);
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t size = std::min(kBlock, end - i);
      if (draws) DrawSlopes(range, of.key, i, slopes);
      if constexpr (kConverts) {
        Isa::Widen(x + i, wide_x, size);
        if constexpr (!kOfItself) Isa::Widen(values + i, wide, size);
        Leak(slopes, kOfItself ? wide_x : wide, wide_x, wide, size);
        Isa::Narrow(wide, output + i, size);
      } else {
        Leak(slopes, (kOfItself ? x : values) + i, x + i, output + i, size);
      }
    }
  }

 private:
  // The output may be another array, at the same index.
  template <typename C>
  TENSORFLOW_EXT_INLINE static void Leak(const C* slopes, const C* values, const C* x, C* output,
                                         int64_t size) {
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      output[i] = LeakValue(slopes[i], values[i], x[i]);
    }
  }
};

}  // namespace

void RunRrelu(NumericType type, Slopes slopes, const void* values, const void* x, void* output,
              int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const T* of = static_cast<const T*>(values);
    const T* at = static_cast<const T*>(x);
    T* to = static_cast<T*>(output);
    if (of == at) {
      RunBest<RreluLoop<T, true>>(slopes, of, at, to, begin, end);
    } else {
      RunBest<RreluLoop<T, false>>(slopes, of, at, to, begin, end);
    }
  });
}

}  // namespace tensorflow_ext
