// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/activations/activations.h"

namespace tensorflow_ext {

TENSORFLOW_EXT_ACTIVATIONS(INSTANTIATE_CPU_ELEMENTWISE)

}  // namespace tensorflow_ext
