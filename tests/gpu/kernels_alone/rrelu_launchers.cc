// SPDX-License-Identifier: Apache-2.0
//
// Rrelu's launcher as plain C: rrelu_checks.py calls it. It returns a
// cudaError_t as an int. `values` is x, or the upstream gradients.

#include <cstdint>

#include "tensorflow_ext/ops/rrelu/rrelu.h"

namespace tensorflow_ext {
#pragma GCC visibility push(default)
extern "C" {

int Kernel_Rrelu(int32_t type, float lower, float upper, uint32_t first_key,
                 uint32_t second_key, const void* values, const void* x,
                 void* output, int64_t size, void* stream) {
  return LaunchRrelu(static_cast<NumericType>(type),
                     {lower, upper, {first_key, second_key}}, values, x, output,
                     size, stream);
}

}  // extern "C"
#pragma GCC visibility pop
}  // namespace tensorflow_ext
