// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/activations/lisht.h"

namespace tensorflow_ext {

template struct GpuElementwise<Lisht>;
template struct GpuElementwise<LishtGrad>;

}  // namespace tensorflow_ext
