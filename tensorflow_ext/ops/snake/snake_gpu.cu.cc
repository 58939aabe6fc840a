// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/broadcast_gpu.cuh"
#include "tensorflow_ext/ops/snake/snake.h"

namespace tensorflow_ext {

template struct GpuBroadcast<Snake>;
template struct GpuBroadcast<SnakeGrad>;

}  // namespace tensorflow_ext
