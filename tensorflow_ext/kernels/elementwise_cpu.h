// SPDX-License-Identifier: Apache-2.0
//
// The elementwise loop on the CPU; an <op>_cpu.cc includes this and
// instantiates CpuElementwise for its functors.

#ifndef TENSORFLOW_EXT_KERNELS_ELEMENTWISE_CPU_H_
#define TENSORFLOW_EXT_KERNELS_ELEMENTWISE_CPU_H_

#include <algorithm>
#include <type_traits>

#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/kernels/simd.h"

namespace tensorflow_ext {
namespace internal {

// output[i] = functor(x[i][, y[i]]), all in the compute type. The functor comes
// by value: the compiler then knows that no output overwrites its members. The
// output may be an input, at the same index; ivdep says that this is all.
template <typename Functor, typename C>
TENSORFLOW_EXT_INLINE void Map(Functor functor, const C* x, const C* y,
                               C* output, int64_t size) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    if constexpr (Functor::kArity == 1) {
      output[i] = functor(x[i]);
    } else {
      output[i] = functor(x[i], y[i]);
    }
  }
}

template <typename Functor, typename T>
struct ElementwiseLoop {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(Functor functor,
                                        const void* const* inputs, void* out,
                                        int64_t begin, int64_t end) {
    constexpr bool kBinary = Functor::kArity == 2;
    const T* x = static_cast<const T*>(inputs[0]);
    const T* y = static_cast<const T*>(inputs[kBinary ? 1 : 0]);
    T* output = static_cast<T*>(out);
    if constexpr (std::is_same_v<T, ComputeType<T>>) {
      Map(functor, x + begin, y + begin, output + begin, end - begin);
    } else {
      // Block by block through buffers; 64 is the fastest size measured.
      constexpr int64_t kBlock = 64;
      float wide_x[kBlock], wide_y[kBinary ? kBlock : 1];
      for (int64_t i = begin; i < end; i += kBlock) {
        const int64_t size = std::min(kBlock, end - i);
        Isa::Widen(x + i, wide_x, size);
        if constexpr (kBinary) Isa::Widen(y + i, wide_y, size);
        Map(functor, wide_x, wide_y, wide_x, size);
        Isa::Narrow(wide_x, output + i, size);
      }
    }
  }
};

}  // namespace internal

template <typename Functor>
void CpuElementwise<Functor>::Run(const Functor& functor, NumericType type,
                                  const void* const* inputs, void* output,
                                  int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<internal::ElementwiseLoop<Functor, T>>(functor, inputs, output,
                                                   begin, end);
  });
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_ELEMENTWISE_CPU_H_
