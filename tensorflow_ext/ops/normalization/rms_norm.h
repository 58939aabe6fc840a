// SPDX-License-Identifier: Apache-2.0
//
// Root mean square normalization; kernels/row_normalization.h has the
// arithmetic.

#ifndef TENSORFLOW_EXT_OPS_NORMALIZATION_RMS_NORM_H_
#define TENSORFLOW_EXT_OPS_NORMALIZATION_RMS_NORM_H_

#include "tensorflow_ext/ops/normalization/row_normalization.h"

namespace tensorflow_ext {

struct RmsNorm {
  static constexpr bool kCentered = false;
  static constexpr char kName[] = "TfExt>RmsNorm";
  static constexpr char kGradName[] = "TfExt>RmsNormGrad";
  static constexpr char kInverse[] = "inverse_rms";
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_NORMALIZATION_RMS_NORM_H_
