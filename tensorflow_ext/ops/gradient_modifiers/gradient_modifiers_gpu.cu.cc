// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/gradient_modifiers/gradient_modifiers.h"

namespace tensorflow_ext {

TENSORFLOW_EXT_GRADIENT_MODIFIERS(INSTANTIATE_GPU_ELEMENTWISE)

}  // namespace tensorflow_ext
