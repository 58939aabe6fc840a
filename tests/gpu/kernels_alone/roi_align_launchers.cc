// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/roi_align/roi_align.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {
namespace {

int64_t ScratchBytes(NumericType type, const RegionDims& dims) {
  return static_cast<int64_t>(RoiAlignScratchBytes(type, dims));
}

}  // namespace

EXPORT_LAUNCHER(RoiAlign, LaunchRoiAlign)
EXPORT_LAUNCHER(RoiAlignGrad, LaunchRoiAlignGrad)
EXPORT_LAUNCHER(RoiAlignScratch, ScratchBytes)

}  // namespace tensorflow_ext
