// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/gradient_modifiers/clip_gradient.h"

namespace tensorflow_ext {

template struct CpuElementwise<Clip>;
template struct CpuElementwise<ClipGrad>;

}  // namespace tensorflow_ext
