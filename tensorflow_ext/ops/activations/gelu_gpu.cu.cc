// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/activations/gelu.h"

namespace tensorflow_ext {

template struct GpuElementwise<GeluExact>;
template struct GpuElementwise<GeluExactGrad>;
template struct GpuElementwise<GeluTanh>;
template struct GpuElementwise<GeluTanhGrad>;

}  // namespace tensorflow_ext
