// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/activations/swiglu.h"

namespace tensorflow_ext {

template struct CpuElementwise<SwiGlu>;
template struct CpuElementwise<SwiGluGrad>;

}  // namespace tensorflow_ext
