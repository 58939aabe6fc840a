// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/activations/lisht.h"

namespace tensorflow_ext {

template struct CpuElementwise<Lisht>;
template struct CpuElementwise<LishtGrad>;

}  // namespace tensorflow_ext
