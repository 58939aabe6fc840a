// SPDX-License-Identifier: Apache-2.0
//
// The broadcasting loop on the CPU; an <op>_cpu.cc includes this and
// instantiates CpuBroadcast for its functors.

#ifndef TENSORFLOW_EXT_KERNELS_BROADCAST_CPU_H_
#define TENSORFLOW_EXT_KERNELS_BROADCAST_CPU_H_

#include <algorithm>
#include <type_traits>

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/simd.h"

namespace tensorflow_ext {

// A run of elements in the innermost dimension; x[i * kX] and y[i * kY] (kX and
// kY are 0 or 1) are the operands of element i. With kArity 3 the arguments are
// (z, x, y, output, size), and z does not repeat. An op specialises this where
// it can do better than call its functor.
template <typename Functor>
struct BroadcastRun {
  template <int kX, int kY, typename C>
  TENSORFLOW_EXT_INLINE static void Run(const C* x, const C* y, C* output,
                                        int64_t size) {
    const Functor functor{};
    const C x0 = x[0], y0 = y[0];
    // An output that is an input is so at the same index, without repeating.
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      output[i] = functor(kX ? x[i] : x0, kY ? y[i] : y0);
    }
  }
};

namespace internal {

// In the compute type. The 16-bit types go block by block through buffers that
// stay in the nearest cache.
template <typename Isa, typename Functor, int kX, int kY, typename T>
TENSORFLOW_EXT_INLINE void RunConverted(const T* const* inputs, T* output,
                                        int64_t size) {
  constexpr int kArity = Functor::kArity;
  using Run = BroadcastRun<Functor>;
  if constexpr (!std::is_same_v<T, ComputeType<T>>) {
    constexpr int64_t kBlock = 256;
    float wide[kArity][kBlock], result[kBlock];
    const float* operands[kArity];
    for (int k = 0; k < kArity; ++k) operands[k] = wide[k];
    for (int64_t i = 0; i < size; i += kBlock) {
      const int64_t block = std::min(kBlock, size - i);
      for (int k = 0; k < kArity; ++k) {
        const bool repeats =
            (k == kArity - 2 && kX == 0) || (k == kArity - 1 && kY == 0);
        if (repeats) {
          wide[k][0] = ToCompute(inputs[k][0]);
        } else {
          Isa::Widen(inputs[k] + i, wide[k], block);
        }
      }
      RunConverted<Isa, Functor, kX, kY>(operands, result, block);
      Isa::Narrow(result, output + i, block);
    }
  } else if constexpr (kArity == 2) {
    Run::template Run<kX, kY>(inputs[0], inputs[1], output, size);
  } else {
    Run::template Run<kX, kY>(inputs[0], inputs[1], inputs[2], output, size);
  }
}

// Where the output's element `index` lies, kept up from run to run: decoding
// it anew takes a division a dimension.
template <int kArity>
struct RunPosition {
  int64_t index[kMaxBroadcastRank];
  int64_t offsets[kArity];

  TENSORFLOW_EXT_INLINE RunPosition(const Broadcast<kArity>& broadcast,
                                    int64_t begin) {
    BroadcastOffsets(broadcast, begin, offsets);
    for (int d = broadcast.rank - 1; d >= 0; --d) {
      index[d] = begin % broadcast.sizes[d];
      begin /= broadcast.sizes[d];
    }
  }

  // Goes on by `run` elements, at most to the end of the innermost dimension.
  TENSORFLOW_EXT_INLINE void Advance(const Broadcast<kArity>& broadcast,
                                     int64_t run) {
    for (int d = broadcast.rank - 1; d >= 0; --d) {
      index[d] += run;
      for (int k = 0; k < kArity; ++k) {
        offsets[k] += run * broadcast.strides[k][d];
      }
      if (d == 0 || index[d] < broadcast.sizes[d]) return;
      for (int k = 0; k < kArity; ++k) {
        offsets[k] -= broadcast.sizes[d] * broadcast.strides[k][d];
      }
      index[d] = 0;
      run = 1;
    }
  }
};

template <typename Isa, typename Functor, typename T>
TENSORFLOW_EXT_INLINE void LoopOverRuns(
    const Broadcast<Functor::kArity>& broadcast, const void* const* inputs,
    T* output, int64_t begin, int64_t end) {
  constexpr int kArity = Functor::kArity;
  const int inner = broadcast.rank - 1;
  const bool x_moves = broadcast.strides[kArity - 2][inner] != 0;
  const bool y_moves = broadcast.strides[kArity - 1][inner] != 0;
  RunPosition<kArity> position(broadcast, begin);
  while (begin < end) {
    const int64_t run =
        std::min(end - begin, broadcast.sizes[inner] - position.index[inner]);
    const T* operands[kArity];
    for (int k = 0; k < kArity; ++k) {
      operands[k] = static_cast<const T*>(inputs[k]) + position.offsets[k];
    }
    if (x_moves && y_moves) {
      RunConverted<Isa, Functor, 1, 1>(operands, output + begin, run);
    } else if (x_moves) {
      RunConverted<Isa, Functor, 1, 0>(operands, output + begin, run);
    } else if (y_moves) {
      RunConverted<Isa, Functor, 0, 1>(operands, output + begin, run);
    } else {
      RunConverted<Isa, Functor, 0, 0>(operands, output + begin, run);
    }
    position.Advance(broadcast, run);
    begin += run;
  }
}

template <typename Functor, typename T>
struct BroadcastLoop {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(
      const Broadcast<Functor::kArity>* broadcast, const void* const* inputs,
      T* output, int64_t begin, int64_t end) {
    LoopOverRuns<Isa, Functor>(*broadcast, inputs, output, begin, end);
  }
};

}  // namespace internal

template <typename Functor>
void CpuBroadcast<Functor>::Run(NumericType type,
                                const Broadcast<Functor::kArity>& broadcast,
                                const void* const* inputs, void* output,
                                int64_t begin, int64_t end) {
  DispatchFor<Functor>(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<internal::BroadcastLoop<Functor, T>>(
        &broadcast, inputs, static_cast<T*>(output), begin, end);
  });
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_BROADCAST_CPU_H_
