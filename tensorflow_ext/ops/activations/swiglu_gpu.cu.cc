// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/activations/swiglu.h"

namespace tensorflow_ext {

template struct GpuElementwise<SwiGlu>;
template struct GpuElementwise<SwiGluGrad>;

}  // namespace tensorflow_ext
