// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/gradient_modifiers/clip_gradient.h"

namespace tensorflow_ext {

template struct GpuElementwise<Clip>;
template struct GpuElementwise<ClipGrad>;

}  // namespace tensorflow_ext
