// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/gradient_modifiers/round_straight_through.h"

namespace tensorflow_ext {

template struct CpuElementwise<Round>;

}  // namespace tensorflow_ext
