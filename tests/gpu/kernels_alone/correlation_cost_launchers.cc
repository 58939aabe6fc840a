// SPDX-License-Identifier: Apache-2.0
//
// CorrelationCost's launchers as plain C: correlation_cost_checks.py calls
// them. They return a cudaError_t as an int.

#include <cstdint>

#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {
#pragma GCC visibility push(default)
extern "C" {

// `dims` are the members of CorrelationCostDims, in order.

int Kernel_CorrelationCost(int32_t type, const int64_t* dims, const void* a,
                           const void* b, void* output, void* stream) {
  return LaunchCorrelationCost(static_cast<NumericType>(type),
                               FromMembers<CorrelationCostDims>(dims), a, b,
                               output, stream);
}

// `argument` is a CorrelationArgument.
int Kernel_CorrelationCostGrad(int32_t type, const int64_t* dims,
                               int32_t argument, const void* gradients,
                               const void* other, void* backprops,
                               void* stream) {
  return LaunchCorrelationCostGrad(static_cast<NumericType>(type),
                                   FromMembers<CorrelationCostDims>(dims),
                                   static_cast<CorrelationArgument>(argument),
                                   gradients, other, backprops, stream);
}

}  // extern "C"
#pragma GCC visibility pop
}  // namespace tensorflow_ext
