#include <algorithm>
#include <type_traits>

#include "tensorflow_ext/kernels/lane_sums_cpu.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm.h"

namespace tensorflow_ext {
namespace {

// The number of elements of the 16-bit types that are widened at a time.
constexpr int64_t kBlock = 256;

// The terms that LaneSums adds.
template <typename T, bool kProducts>
struct Terms {
  using C = ComputeType<T>;

  template <typename V>
  TENSORFLOW_EXT_INLINE void At(int64_t i, V* terms) const {
    V v, g;
    LoadWide(values + i, &v);
    if constexpr (kProducts) {
      LoadWide(gradients + i, &g);
    } else {
      g = v;
    }
    NormTerms<T, kProducts>(v, g, terms);
  }

  const C* values;
  const C* gradients;

 private:
  // Loads as many values as V holds, in double.
  template <typename V>
  TENSORFLOW_EXT_INLINE static void LoadWide(const C* from, V* to) {
    if constexpr (std::is_same_v<V, double>) {
      *to = static_cast<double>(*from);
    } else if constexpr (std::is_same_v<C, double>) {
      Load(from, to);
    } else {
      // One instruction. GCC 12 makes five of __builtin_convertvector.
      constexpr int kLanes = sizeof(V) / sizeof(double);
      double wide[kLanes];
      for (int i = 0; i < kLanes; ++i) wide[i] = from[i];
      Load(wide, to);
    }
  }
};

// For doubles, a comparison selects the sum that a value adds to. In vectors wider than AVX2's, the
// compiler would split it into single elements.
template <typename T, typename Isa>
struct SumIsa {
  using type = Isa;
};
#if defined(__x86_64__)
template <>
struct SumIsa<double, Avx512> {
  using type = Avx2;
};
#endif

template <typename T, bool kProducts>
struct SumLoop {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static NormSums Run(const void* all_values, const void* all_gradients,
                                            int64_t size) {
    constexpr int kSums = kNormSums<T, kProducts>;
    const T* values = static_cast<const T*>(all_values);
    const T* gradients = static_cast<const T*>(all_gradients);
    LaneSums<typename SumIsa<T, Isa>::type, double, kSums> lanes;
    if constexpr (std::is_same_v<T, ComputeType<T>>) {
      lanes.Add(Terms<T, kProducts>{values, gradients}, size);
    } else {
      float wide_values[kBlock], wide_gradients[kProducts ? kBlock : 1];
      for (int64_t i = 0; i < size; i += kBlock) {
        const int64_t block = std::min(kBlock, size - i);
        Isa::Widen(values + i, wide_values, block);
        if constexpr (kProducts) {
          Isa::Widen(gradients + i, wide_gradients, block);
        }
        lanes.Add(Terms<T, kProducts>{wide_values, wide_gradients}, block);
      }
    }
    double sums[kSums];
    for (int k = 0; k < kSums; ++k) sums[k] = lanes.Total(k);
    return ToNormSums<T, kProducts>(sums);
  }
};

// outputs = f.scale * x [+ f.along * y]
template <typename C, bool kBinary>
TENSORFLOW_EXT_INLINE void Combine(const C* x, const C* y, ClipGradFactors f, C* outputs,
                                   int64_t size) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    const double own = static_cast<double>(x[i]);
    if constexpr (kBinary) {
      outputs[i] = static_cast<C>(ClipGradValue(own, y[i], f));
    } else {
      outputs[i] = static_cast<C>(f.scale * own);
    }
  }
}

template <typename T, bool kBinary>
struct CombineLoop {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(const void* all_x, const void* all_y, ClipGradFactors f,
                                        void* all_outputs, int64_t size) {
    const T* x = static_cast<const T*>(all_x);
    const T* y = static_cast<const T*>(all_y);
    T* outputs = static_cast<T*>(all_outputs);
    if constexpr (std::is_same_v<T, ComputeType<T>>) {
      Combine<T, kBinary>(x, y, f, outputs, size);
    } else {
      float wide_x[kBlock], wide_y[kBinary ? kBlock : 1];
      for (int64_t i = 0; i < size; i += kBlock) {
        const int64_t block = std::min(kBlock, size - i);
        Isa::Widen(x + i, wide_x, block);
        if constexpr (kBinary) Isa::Widen(y + i, wide_y, block);
        Combine<float, kBinary>(wide_x, wide_y, f, wide_x, block);
        Isa::Narrow(wide_x, outputs + i, block);
      }
    }
  }
};

}  // namespace

NormSums NormSumsCpu(NumericType type, const void* values, const void* gradients, int64_t size) {
  return DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return gradients == nullptr ? RunBest<SumLoop<T, false>>(values, values, size)
                                : RunBest<SumLoop<T, true>>(values, gradients, size);
  });
}

void ScaleValuesCpu(NumericType type, const void* values, double scale, void* outputs,
                    int64_t size) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<CombineLoop<T, false>>(values, values, ClipGradFactors{scale, 0, 0}, outputs, size);
  });
}

void ClipGradValuesCpu(NumericType type, const void* gradients, const void* values,
                       const ClipGradFactors& factors, void* outputs, int64_t size) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<CombineLoop<T, true>>(gradients, values, factors, outputs, size);
  });
}

}  // namespace tensorflow_ext
