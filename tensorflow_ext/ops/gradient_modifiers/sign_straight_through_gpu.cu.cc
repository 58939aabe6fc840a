// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/gradient_modifiers/sign_straight_through.h"

namespace tensorflow_ext {

template struct GpuElementwise<Sign>;
template struct GpuElementwise<SignStraightThroughGrad>;

}  // namespace tensorflow_ext
