// SPDX-License-Identifier: Apache-2.0
//
// Layer normalization; kernels/row_normalization.h has the arithmetic.

#ifndef TENSORFLOW_EXT_OPS_NORMALIZATION_LAYER_NORM_H_
#define TENSORFLOW_EXT_OPS_NORMALIZATION_LAYER_NORM_H_

#include "tensorflow_ext/ops/normalization/row_normalization.h"

namespace tensorflow_ext {

struct LayerNorm {
  static constexpr bool kCentered = true;
  static constexpr char kName[] = "TfExt>LayerNorm";
  static constexpr char kGradName[] = "TfExt>LayerNormGrad";
  static constexpr char kInverse[] = "inverse_stddev";
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_NORMALIZATION_LAYER_NORM_H_
