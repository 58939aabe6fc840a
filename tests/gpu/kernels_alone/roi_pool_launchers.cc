// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/roi_pool/roi_pool.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {

EXPORT_LAUNCHER(RoiPool, LaunchRoiPool)
EXPORT_LAUNCHER(RoiPoolGrad, LaunchRoiPoolGrad)
EXPORT_LAUNCHER(RoiPoolGradDeterministic, LaunchRoiPoolGradDeterministic)
EXPORT_LAUNCHER(RoiPoolGradGrad, LaunchRoiPoolGradGrad)

}  // namespace tensorflow_ext
