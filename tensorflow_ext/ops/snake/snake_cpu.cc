// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tensorflow_ext/kernels/broadcast_cpu.h"
#include "tensorflow_ext/ops/snake/snake.h"

namespace tensorflow_ext {
namespace {

template <int kX, int kY, typename C>
TENSORFLOW_EXT_INLINE bool AllNear(const C* x, const C* y, int64_t size) {
  const C x0 = x[0], y0 = y[0];
  int32_t far = 0;
  for (int64_t i = 0; i < size; ++i) {
    const C t = (kX ? x[i] : x0) * (kY ? y[i] : y0);
    far |= Abs(t) > C(kTrigonometricLimit) ? 1 : 0;
  }
  return far == 0;
}

// Block by block, each with `Near` where it can be.
template <typename Near, typename Any>
struct RunInBlocks {
  template <int kX, int kY, typename C>
  TENSORFLOW_EXT_INLINE static void Run(const C* const* inputs,
                                        C* const* outputs, int64_t size) {
    constexpr int64_t kBlock = 256;
    constexpr int kArity = Any::kArity;
    for (int64_t begin = 0; begin < size; begin += kBlock) {
      const int64_t n = std::min(kBlock, size - begin);
      const C* block[kArity];
      C* results[kOutputs<Any>];
      for (int k = 0; k < kArity; ++k) block[k] = inputs[k] + begin;
      if (!kX) block[kArity - 2] = inputs[kArity - 2];
      if (!kY) block[kArity - 1] = inputs[kArity - 1];
      for (int k = 0; k < kOutputs<Any>; ++k) results[k] = outputs[k] + begin;
      if (AllNear<kX, kY>(block[kArity - 2], block[kArity - 1], n)) {
        MapRun<kX, kY>(Near{}, block, results, n);
      } else {
        MapRun<kX, kY>(Any{}, block, results, n);
      }
    }
  }
};

}  // namespace

template <>
struct BroadcastRun<Snake> : RunInBlocks<SnakeIn<true>, Snake> {};
template <>
struct BroadcastRun<SnakeGrad> : RunInBlocks<SnakeGradIn<true>, SnakeGrad> {};

template struct CpuBroadcast<Snake>;
template struct CpuBroadcast<SnakeGrad>;

}  // namespace tensorflow_ext
