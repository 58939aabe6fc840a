// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/gradient_modifiers/sign_straight_through.h"

namespace tensorflow_ext {

template struct CpuElementwise<Sign>;
template struct CpuElementwise<SignStraightThroughGrad>;

}  // namespace tensorflow_ext
