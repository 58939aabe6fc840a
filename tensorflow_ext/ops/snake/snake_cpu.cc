// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/broadcast_cpu.h"
#include "tensorflow_ext/ops/snake/snake.h"

namespace tensorflow_ext {

template struct CpuBroadcast<Snake>;
template struct CpuBroadcast<SnakeGrad>;

}  // namespace tensorflow_ext
