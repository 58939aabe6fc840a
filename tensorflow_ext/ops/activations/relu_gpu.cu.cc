// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/activations/relu.h"

namespace tensorflow_ext {

template struct GpuElementwise<Relu>;
template struct GpuElementwise<ReluGrad>;

}  // namespace tensorflow_ext
