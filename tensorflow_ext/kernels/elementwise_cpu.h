// The elementwise loop on the CPU. A *_cpu.cc includes this file, and broadcast_cpu.h if operands
// broadcast, and instantiates the loops of its ops (elementwise.h):
//
//   TENSORFLOW_EXT_ACTIVATIONS(INSTANTIATE_CPU_ELEMENTWISE)

#pragma once

#include <algorithm>
#include <type_traits>

#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/kernels/near_number.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/kernels/streaming_cpu.h"
#include "tensorflow_ext/kernels/two_numbers.h"

namespace tensorflow_ext {
namespace internal {

// outputs[0][i], ... = functor(inputs[0][i], ...), all in the compute type; the functor gets a
// Number instead. The functor is passed by value, so the compiler knows that no output overwrites
// its members. An output may be an input at the same index; ivdep says that there is no other
// overlap.
template <typename Number, typename Functor, typename C>
TENSORFLOW_EXT_INLINE void MapAs(Functor functor, const C* const* inputs, C* const* outputs,
                                 int64_t size) {
  constexpr int kArity = Functor::kArity;
  const C* x = inputs[0];
  const C* y = inputs[kArity > 1 ? 1 : 0];
  const C* z = inputs[kArity > 2 ? 2 : 0];
  C* first = outputs[0];
  C* last = outputs[kOutputs<Functor> - 1];
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    const Number arguments[] = {Number(x[i]), Number(y[i]), Number(z[i])};
    Number results[2];
    Apply(functor, arguments, results);
    first[i] = ValueOf(results[0]);
    if constexpr (kOutputs<Functor> == 2) last[i] = ValueOf(results[1]);
  }
}

// MapAs on two halves of the elements at once. An odd size leaves one element.
template <typename Functor, typename C>
TENSORFLOW_EXT_INLINE void MapHalves(Functor functor, const C* const* inputs, C* const* outputs,
                                     int64_t size) {
  using Number = TwoNumbers<C>;
  constexpr int kArity = Functor::kArity;
  const int64_t half = size / 2;
  const C* x = inputs[0];
  const C* y = inputs[kArity > 1 ? 1 : 0];
  const C* z = inputs[kArity > 2 ? 2 : 0];
  C* first = outputs[0];
  C* last = outputs[kOutputs<Functor> - 1];
#pragma GCC ivdep
  for (int64_t i = 0; i < half; ++i) {
    const Number arguments[] = {Number(x[i], x[half + i]), Number(y[i], y[half + i]),
                                Number(z[i], z[half + i])};
    Number results[2];
    Apply(functor, arguments, results);
    first[i] = results[0].first;
    first[half + i] = results[0].second;
    if constexpr (kOutputs<Functor> == 2) {
      last[i] = results[1].first;
      last[half + i] = results[1].second;
    }
  }
  if (size % 2 == 0) return;
  const C* rest[kArity];
  C* to[kOutputs<Functor>];
  for (int k = 0; k < kArity; ++k) rest[k] = inputs[k] + size - 1;
  for (int k = 0; k < kOutputs<Functor>; ++k) to[k] = outputs[k] + size - 1;
  MapAs<C>(functor, rest, to, 1);
}

// True if every angle that the functor takes is near enough for SinCosNear.
template <typename Functor, typename C>
TENSORFLOW_EXT_INLINE bool AllNear(Functor functor, const C* const* inputs, int64_t size) {
  constexpr int kArity = Functor::kArity;
  using Number = NearNumber<C>;
  const C* x = inputs[0];
  const C* y = inputs[kArity > 1 ? 1 : 0];
  const C* z = inputs[kArity > 2 ? 2 : 0];
  BitsOf<C> far = 0;
  for (int64_t i = 0; i < size; ++i) {
    const Number arguments[] = {Number(x[i]), Number(y[i]), Number(z[i])};
    Number results[2];
    Apply(functor, arguments, results);
    far |= results[0].far;
    if constexpr (kOutputs<Functor> == 2) far |= results[1].far;
  }
  return far == 0;
}

template <typename Isa, typename Functor, typename C>
TENSORFLOW_EXT_INLINE void Map(Functor functor, const C* const* inputs, C* const* outputs,
                               int64_t size) {
  static_assert(!kTwoAtOnce<Functor> || !kTakesAngles<Functor>,
                "blocks of near angles go one by one");
  // Only with AVX2, where it was measured.
  if constexpr (kTwoAtOnce<Functor> && kVectorBytes<Isa> == 32) {
    MapHalves(functor, inputs, outputs, size);
  } else if constexpr (!kTakesAngles<Functor>) {
    MapAs<C>(functor, inputs, outputs, size);
  } else {
    for (int64_t begin = 0; begin < size; begin += kAnglesBlock) {
      const int64_t block = std::min(kAnglesBlock, size - begin);
      const C* from[Functor::kArity];
      C* to[kOutputs<Functor>];
      for (int k = 0; k < Functor::kArity; ++k) from[k] = inputs[k] + begin;
      for (int k = 0; k < kOutputs<Functor>; ++k) to[k] = outputs[k] + begin;
      if (AllNear(functor, from, block)) {
        MapAs<NearNumber<C>>(functor, from, to, block);
      } else {
        MapAs<C>(functor, from, to, block);
      }
    }
  }
}

template <typename Functor, typename C>
struct MapLoop {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(Functor functor, const C* const* inputs, C* const* outputs,
                                        int64_t size) {
    Map<Isa>(functor, inputs, outputs, size);
  }
};

// Prefetches the memory that the loop needs some blocks after element i. A processor looks ahead by
// about as many instructions as it can hold. Where an element takes many, that is too few to have
// all lines in time. Compilers turn Where(condition, input, 0) into a load under a mask, which
// starts only when the mask is known, after the loads that the condition waits for.
template <typename Functor, typename T>
TENSORFLOW_EXT_INLINE void Prefetch(const void* const* inputs, void* const* outputs, int64_t i,
                                    int64_t size) {
  // In bytes; measured.
  constexpr int64_t kLine = 64, kAhead = kComputesLong<Functor> ? 1024 : 4096;
  const int64_t first = i * static_cast<int64_t>(sizeof(T)) + kAhead;
  const int64_t last = first + size * static_cast<int64_t>(sizeof(T));
  for (int64_t offset = first; offset < last; offset += kLine) {
    for (int k = 0; k < Functor::kArity; ++k) {
      const uintptr_t address = reinterpret_cast<uintptr_t>(inputs[k]) + offset;
      __builtin_prefetch(reinterpret_cast<const void*>(address), 0);
    }
    if constexpr (kComputesLong<Functor>) {
      for (int k = 0; k < kOutputs<Functor>; ++k) {
        const uintptr_t address = reinterpret_cast<uintptr_t>(outputs[k]) + offset;
        __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
      }
    }
  }
}

template <typename Functor, typename T>
struct ElementwiseLoop {
  // If `streams`, the outputs go past the caches.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(Functor functor, const void* const* inputs,
                                        void* const* outputs, bool streams, int64_t begin,
                                        int64_t end) {
    using C = ComputeType<T>;
    constexpr int kArity = Functor::kArity, kResults = kOutputs<Functor>;
    constexpr bool kConverts = !std::is_same_v<T, C>;
    // Block by block through buffers. 64 is the fastest size measured, and 256 where there are no
    // buffers. A loop that needs neither buffers nor prefetching is one block. Fewer than kMany
    // elements are in a nearby cache. With smaller vectors so few loads wait at once that the
    // processor itself looks far enough ahead, except when streaming.
    constexpr int64_t kBlock = 64, kAskingBlock = 256, kMany = 100000;
    const bool is_far = streams || (kVectorBytes<Isa> == 64 && end - begin >= kMany);
    const bool asks = kComputesLong<Functor> || (kArity > 1 && !kConverts && is_far);
    int64_t block = end - begin;
    if (kConverts || kComputesLong<Functor> || streams) {
      block = kBlock;
    } else if (asks) {
      block = kAskingBlock;
    }
    C wide[kArity][kConverts ? kBlock : 1];
    alignas(kLineBytes) T stored[kResults][kBlock];
    const C* x[kArity];
    C* y[kResults];
    // Streamed blocks begin at a line of the first output.
    int64_t size =
        streams ? BytesToLine(static_cast<T*>(outputs[0]) + begin) / static_cast<int64_t>(sizeof(T))
                : 0;
    if (size == 0) size = block;
    for (int64_t i = begin; i < end; i += size, size = block) {
      size = std::min(size, end - i);
      if (asks) Prefetch<Functor, T>(inputs, outputs, i, size);
      for (int k = 0; k < kArity; ++k) {
        const T* input = static_cast<const T*>(inputs[k]) + i;
        if constexpr (kConverts) {
          Isa::Widen(input, wide[k], size);
          x[k] = wide[k];
        } else {
          x[k] = input;
        }
      }
      static_assert(kResults <= kArity);
      T* results[kResults];
      for (int k = 0; k < kResults; ++k) {
        results[k] = streams ? stored[k] : static_cast<T*>(outputs[k]) + i;
        if constexpr (kConverts) {
          y[k] = wide[k];
        } else {
          y[k] = results[k];
        }
      }
      if constexpr (kComputesLong<Functor>) {
        const C* const* operands = x;
        C* const* computed = y;
        RunShared<Isa, MapLoop<Functor, C>>(functor, operands, computed, size);
      } else {
        Map<Isa>(functor, x, y, size);
      }
      for (int k = 0; k < kResults; ++k) {
        if constexpr (kConverts) Isa::Narrow(wide[k], results[k], size);
        if (streams) {
          CopyStreaming(stored[k], static_cast<T*>(outputs[k]) + i, size * sizeof(T));
        }
      }
    }
    if (streams) FinishStreaming();
  }
};

}  // namespace internal

template <typename Functor>
void CpuElementwise<Functor, false>::Run(const Functor& functor, NumericType type,
                                         const void* const* inputs, void* const* outputs,
                                         int64_t begin, int64_t end, bool streams) {
  WithFormula(functor, [&](const auto& formula) {
    using Formula = std::decay_t<decltype(formula)>;
    DispatchFloating(type, [&](auto tag) {
      using T = TypeOf<decltype(tag)>;
      // A loop that computes for long does not wait for its stores.
      RunBest<internal::ElementwiseLoop<Formula, T>>(
          formula, inputs, outputs, streams && !kComputesLong<Formula>, begin, end);
    });
  });
}

#define INSTANTIATE_CPU_ELEMENTWISE(op, Functor) \
  template struct ::tensorflow_ext::CpuElementwise<Functor>;

}  // namespace tensorflow_ext
