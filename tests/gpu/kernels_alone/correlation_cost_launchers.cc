// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {

EXPORT_LAUNCHER(CorrelationCost, LaunchCorrelationCost)
EXPORT_LAUNCHER(CorrelationCostGrad, LaunchCorrelationCostGrad)

}  // namespace tensorflow_ext
