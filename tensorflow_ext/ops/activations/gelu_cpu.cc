// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/activations/gelu.h"

namespace tensorflow_ext {

template struct CpuElementwise<GeluExact>;
template struct CpuElementwise<GeluExactGrad>;
template struct CpuElementwise<GeluTanh>;
template struct CpuElementwise<GeluTanhGrad>;

}  // namespace tensorflow_ext
