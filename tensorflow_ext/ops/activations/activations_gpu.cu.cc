// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/activations/activations.h"

namespace tensorflow_ext {

TENSORFLOW_EXT_ACTIVATIONS(INSTANTIATE_GPU_ELEMENTWISE)

}  // namespace tensorflow_ext
