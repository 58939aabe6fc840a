// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/activations/shrink.h"

namespace tensorflow_ext {

template struct CpuElementwise<Tanhshrink>;
template struct CpuElementwise<TanhshrinkGrad>;
template struct CpuElementwise<Hardshrink>;
template struct CpuElementwise<Softshrink>;
template struct CpuElementwise<ShrinkGrad>;

}  // namespace tensorflow_ext
