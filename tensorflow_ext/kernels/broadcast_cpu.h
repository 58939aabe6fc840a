// The broadcasting loop on the CPU (elementwise_cpu.h).

#pragma once

#include <algorithm>
#include <type_traits>

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/broadcast_runs_cpu.h"
#include "tensorflow_ext/kernels/near_number.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/kernels/streaming_cpu.h"

namespace tensorflow_ext {

namespace internal {

template <typename Number, typename Functor, typename C>
TENSORFLOW_EXT_INLINE void ApplyToRun(Functor functor, C z, C x, C y, Number* results) {
  if constexpr (Functor::kArity == 2) {
    Spread(functor(Number(x), Number(y)), results);
  } else {
    Spread(functor(Number(z), Number(x), Number(y)), results);
  }
}

// MapRun with a Number in place of the compute type.
template <typename Number, int kX, int kY, typename Functor, typename C>
TENSORFLOW_EXT_INLINE void MapRunAs(Functor functor, const C* const* inputs, C* const* outputs,
                                    int64_t size) {
  constexpr int kArity = Functor::kArity;
  const C* z = inputs[0];
  const C* x = inputs[kArity - 2];
  const C* y = inputs[kArity - 1];
  C* first = outputs[0];
  C* last = outputs[kOutputs<Functor> - 1];
  const C x0 = x[0], y0 = y[0];
  // An output that is an input has the same index and does not repeat.
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    const C x_i = kX ? x[i] : x0, y_i = kY ? y[i] : y0;
    Number results[2];
    ApplyToRun(functor, kArity == 2 ? x_i : z[i], x_i, y_i, results);
    first[i] = ValueOf(results[0]);
    if constexpr (kOutputs<Functor> == 2) last[i] = ValueOf(results[1]);
  }
}

// True if every angle that the functor takes is near enough for SinCosNear.
template <int kX, int kY, typename Functor, typename C>
TENSORFLOW_EXT_INLINE bool AllNearInRun(Functor functor, const C* const* inputs, int64_t size) {
  constexpr int kArity = Functor::kArity;
  const C* z = inputs[0];
  const C* x = inputs[kArity - 2];
  const C* y = inputs[kArity - 1];
  const C x0 = x[0], y0 = y[0];
  BitsOf<C> far = 0;
  for (int64_t i = 0; i < size; ++i) {
    const C x_i = kX ? x[i] : x0, y_i = kY ? y[i] : y0;
    NearNumber<C> results[2];
    ApplyToRun(functor, kArity == 2 ? x_i : z[i], x_i, y_i, results);
    far |= results[0].far;
    if constexpr (kOutputs<Functor> == 2) far |= results[1].far;
  }
  return far == 0;
}

}  // namespace internal

// Calls the functor for each element of a run, see below.
template <int kX, int kY, typename Functor, typename C>
TENSORFLOW_EXT_INLINE void MapRun(Functor functor, const C* const* inputs, C* const* outputs,
                                  int64_t size) {
  if constexpr (!kTakesAngles<Functor>) {
    internal::MapRunAs<C, kX, kY>(functor, inputs, outputs, size);
  } else {
    constexpr int kArity = Functor::kArity;
    for (int64_t begin = 0; begin < size; begin += kAnglesBlock) {
      const int64_t block = std::min(kAnglesBlock, size - begin);
      const C* from[kArity];
      C* to[kOutputs<Functor>];
      for (int k = 0; k < kArity; ++k) from[k] = inputs[k] + begin;
      if (!kX) from[kArity - 2] = inputs[kArity - 2];
      if (!kY) from[kArity - 1] = inputs[kArity - 1];
      for (int k = 0; k < kOutputs<Functor>; ++k) to[k] = outputs[k] + begin;
      if (internal::AllNearInRun<kX, kY>(functor, from, block)) {
        internal::MapRunAs<NearNumber<C>, kX, kY>(functor, from, to, block);
      } else {
        internal::MapRunAs<C, kX, kY>(functor, from, to, block);
      }
    }
  }
}

// A run of elements in the innermost dimension. x and y are the last two inputs; x[i * kX] and y[i
// * kY] (kX and kY are 0 or 1) are the operands of element i. With kArity 3 the first input does
// not repeat. An op specialises this class where it can do better than call its functor.
template <typename Functor>
struct BroadcastRun {
  template <int kX, int kY, typename C>
  TENSORFLOW_EXT_INLINE static void Run(const C* const* inputs, C* const* outputs, int64_t size) {
    MapRun<kX, kY>(Functor{}, inputs, outputs, size);
  }
};

namespace internal {

template <typename Functor, typename C>
struct RunLoop {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(const C* const* inputs, C* const* outputs, int64_t size) {
    BroadcastRun<Functor>::template Run<1, 1>(inputs, outputs, size);
  }
};

// True for a functor with so many operations that copying a repeated operand into a buffer takes no
// time beside them.
template <typename Functor>
constexpr bool kIsCostly = kBroadcastCost<Functor> >= 6;

// A run in the compute type, block by block. Buffers in the nearest cache hold converted values and
// operands that repeat, which are copied once. This way only one kind of run is compiled.
template <typename Isa, typename Functor, typename T>
TENSORFLOW_EXT_INLINE void RunInBlocks(const T* const* inputs, bool x_moves, bool y_moves,
                                       T* const* outputs, int64_t size) {
  using C = ComputeType<T>;
  constexpr int kArity = Functor::kArity, kResults = kOutputs<Functor>;
  constexpr int64_t kBlock = 256;
  constexpr bool kConverts = !std::is_same_v<T, C>;
  C wide[kArity][kBlock], narrowed[kConverts ? kResults : 1][kBlock];
  const C* operands[kArity];
  C* results[kResults];
  bool moves[kArity] = {};
  for (int k = 0; k < kArity; ++k) {
    operands[k] = wide[k];
    moves[k] = k == kArity - 2 ? x_moves : k == kArity - 1 ? y_moves : true;
    if (!moves[k]) {
      std::fill_n(wide[k], std::min(kBlock, size), ToCompute(inputs[k][0]));
    }
  }
  for (int64_t i = 0; i < size; i += kBlock) {
    const int64_t block = std::min(kBlock, size - i);
    for (int k = 0; k < kArity; ++k) {
      if (!moves[k]) continue;
      if constexpr (kConverts) {
        Isa::Widen(inputs[k] + i, wide[k], block);
      } else {
        operands[k] = inputs[k] + i;
      }
    }
    for (int k = 0; k < kResults; ++k) {
      if constexpr (kConverts) {
        results[k] = narrowed[k];
      } else {
        results[k] = outputs[k] + i;
      }
    }
    if constexpr (kIsCostly<Functor>) {
      const C* const* from = operands;
      C* const* to = results;
      RunShared<Isa, RunLoop<Functor, C>>(from, to, block);
    } else {
      RunLoop<Functor, C>::template Run<Isa>(operands, results, block);
    }
    if constexpr (kConverts) {
      for (int k = 0; k < kResults; ++k) {
        Isa::Narrow(results[k], outputs[k] + i, block);
      }
    }
  }
}

// A run; x_moves and y_moves are false where that operand repeats.
template <typename Isa, typename Functor, typename T>
TENSORFLOW_EXT_INLINE void RunOfAny(const T* const* inputs, bool x_moves, bool y_moves,
                                    T* const* outputs, int64_t size) {
  using Run = BroadcastRun<Functor>;
  if constexpr (!std::is_same_v<T, ComputeType<T>> || kIsCostly<Functor>) {
    RunInBlocks<Isa, Functor>(inputs, x_moves, y_moves, outputs, size);
  } else if (x_moves && y_moves) {
    Run::template Run<1, 1>(inputs, outputs, size);
  } else if (x_moves) {
    Run::template Run<1, 0>(inputs, outputs, size);
  } else if (y_moves) {
    Run::template Run<0, 1>(inputs, outputs, size);
  } else {
    Run::template Run<0, 0>(inputs, outputs, size);
  }
}

// If `streams`, the outputs go past the caches, block by block.
template <typename Isa, typename Functor, typename T>
TENSORFLOW_EXT_INLINE void LoopOverRuns(const Broadcast<Functor::kArity>& broadcast,
                                        const void* const* inputs, void* const* outputs,
                                        bool streams, int64_t begin, int64_t end) {
  constexpr int kArity = Functor::kArity, kResults = kOutputs<Functor>;
  constexpr int64_t kBlock = 256, kLine = kLineBytes / sizeof(T);
  alignas(kLineBytes) T stored[kResults][kBlock];
  BroadcastRuns<T, kArity> runs(broadcast, inputs, begin, end);
  const bool x_moves = runs.Moves(kArity - 2), y_moves = runs.Moves(kArity - 1);
  while (const int64_t run = runs.Next()) {
    const T* operands[kArity];
    std::copy_n(runs.operands(), kArity, operands);
    for (int64_t left = run, size; left > 0; left -= size, begin += size) {
      size = left;
      if (streams) {  // up to the end of a line of the first output
        const int64_t to_line = BytesToLine(static_cast<T*>(outputs[0]) + begin) / sizeof(T);
        size = std::min(left, kBlock - kLine + to_line);
      }
      T* results[kResults];
      for (int k = 0; k < kResults; ++k) {
        results[k] = streams ? stored[k] : static_cast<T*>(outputs[k]) + begin;
      }
      RunOfAny<Isa, Functor>(operands, x_moves, y_moves, results, size);
      if (!streams) continue;
      for (int k = 0; k < kResults; ++k) {
        CopyStreaming(stored[k], static_cast<T*>(outputs[k]) + begin, size * sizeof(T));
      }
      for (int k = 0; k < kArity; ++k) {
        if (runs.Moves(k)) operands[k] += size;
      }
    }
  }
  if (streams) FinishStreaming();
}

template <typename Functor, typename T>
struct BroadcastLoop {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(const Broadcast<Functor::kArity>* broadcast,
                                        const void* const* inputs, void* const* outputs,
                                        bool streams, int64_t begin, int64_t end) {
    LoopOverRuns<Isa, Functor, T>(*broadcast, inputs, outputs, streams, begin, end);
  }
};

}  // namespace internal

template <typename Functor>
void CpuElementwise<Functor, true>::Run(NumericType type,
                                        const Broadcast<Functor::kArity>& broadcast,
                                        const void* const* inputs, void* const* outputs,
                                        int64_t begin, int64_t end, bool streams) {
  DispatchFor<Functor>(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<internal::BroadcastLoop<Functor, T>>(&broadcast, inputs, outputs, streams, begin, end);
  });
}

}  // namespace tensorflow_ext
