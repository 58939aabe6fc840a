// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/activations/mish.h"

namespace tensorflow_ext {

template struct CpuElementwise<Mish>;
template struct CpuElementwise<MishGrad>;

}  // namespace tensorflow_ext
