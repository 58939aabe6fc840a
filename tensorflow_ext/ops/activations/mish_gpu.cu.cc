// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/activations/mish.h"

namespace tensorflow_ext {

template struct GpuElementwise<Mish>;
template struct GpuElementwise<MishGrad>;

}  // namespace tensorflow_ext
