// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/resampler/resampler.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {

EXPORT_LAUNCHER(Resample, LaunchResample)
EXPORT_LAUNCHER(ResamplerAdjoint, LaunchResamplerAdjoint)
EXPORT_LAUNCHER(ResamplerWarpGrad, LaunchResamplerWarpGrad)

}  // namespace tensorflow_ext
