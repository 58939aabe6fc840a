// SPDX-License-Identifier: Apache-2.0
//
// The launchers of elementwise and broadcasting kernels and of ZeroOut on the
// host: what the CPU kernels run, from a single thread.

#include <cstdint>
#include <cstring>

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/ops/clip_gradient/clip_gradient.h"
#include "tensorflow_ext/ops/floor_mod/floor_mod.h"
#include "tensorflow_ext/ops/gelu/gelu.h"
#include "tensorflow_ext/ops/lisht/lisht.h"
#include "tensorflow_ext/ops/mish/mish.h"
#include "tensorflow_ext/ops/multiply_left/multiply_left.h"
#include "tensorflow_ext/ops/relu/relu.h"
#include "tensorflow_ext/ops/round_straight_through/round_straight_through.h"
#include "tensorflow_ext/ops/scale_gradient/scale_gradient.h"
#include "tensorflow_ext/ops/shrink/shrink.h"
#include "tensorflow_ext/ops/sign_straight_through/sign_straight_through.h"
#include "tensorflow_ext/ops/swiglu/swiglu.h"
#include "tensorflow_ext/ops/zero_out/zero_out.h"

namespace tensorflow_ext {

template <typename Functor>
int GpuElementwise<Functor>::Launch(const Functor& functor, NumericType type,
                                    const void* const* inputs,
                                    void* const* outputs, int64_t size, void*) {
  CpuElementwise<Functor>::Run(functor, type, inputs, outputs, 0, size);
  return 0;
}

template struct GpuElementwise<Clip>;
template struct GpuElementwise<ClipGrad>;
template struct GpuElementwise<GeluExact>;
template struct GpuElementwise<GeluExactGrad>;
template struct GpuElementwise<GeluTanh>;
template struct GpuElementwise<GeluTanhGrad>;
template struct GpuElementwise<Hardshrink>;
template struct GpuElementwise<Lisht>;
template struct GpuElementwise<LishtGrad>;
template struct GpuElementwise<Mish>;
template struct GpuElementwise<MishGrad>;
template struct GpuElementwise<Relu>;
template struct GpuElementwise<ReluGrad>;
template struct GpuElementwise<Round>;
template struct GpuElementwise<Scale>;
template struct GpuElementwise<ShrinkGrad>;
template struct GpuElementwise<Sign>;
template struct GpuElementwise<SignStraightThroughGrad>;
template struct GpuElementwise<Softshrink>;
template struct GpuElementwise<SwiGlu>;
template struct GpuElementwise<SwiGluGrad>;
template struct GpuElementwise<Tanhshrink>;
template struct GpuElementwise<TanhshrinkGrad>;

template <typename Functor>
int GpuBroadcast<Functor>::Launch(NumericType type,
                                  const Broadcast<Functor::kArity>& broadcast,
                                  const void* const* inputs, void* output,
                                  int64_t size, void*) {
  if (size == 0) return 0;
  CpuBroadcast<Functor>::Run(type, broadcast, inputs, output, 0, size);
  return 0;
}

template struct GpuBroadcast<FloorMod>;
template struct GpuBroadcast<FloorModGrad>;
template struct GpuBroadcast<MultiplyLeft>;

int LaunchClear(void* output, int64_t size, void*) {
  if (size > 0) std::memset(output, 0, size);
  return 0;
}

int LaunchZeroOut(const void* input, void* output, int64_t kept, int64_t size,
                  void* stream) {
  if (size == 0) return 0;
  std::memmove(output, input, kept);
  return LaunchClear(static_cast<char*>(output) + kept, size - kept, stream);
}

}  // namespace tensorflow_ext
