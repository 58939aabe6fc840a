// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/activations/relu.h"

namespace tensorflow_ext {

template struct CpuElementwise<Relu>;
template struct CpuElementwise<ReluGrad>;

}  // namespace tensorflow_ext
