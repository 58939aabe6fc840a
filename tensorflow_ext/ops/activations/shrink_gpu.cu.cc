// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/activations/shrink.h"

namespace tensorflow_ext {

template struct GpuElementwise<Tanhshrink>;
template struct GpuElementwise<TanhshrinkGrad>;
template struct GpuElementwise<Hardshrink>;
template struct GpuElementwise<Softshrink>;
template struct GpuElementwise<ShrinkGrad>;

}  // namespace tensorflow_ext
