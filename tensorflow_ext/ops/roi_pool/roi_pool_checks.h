// SPDX-License-Identifier: Apache-2.0
//
// Checks the arguments of RoiPool, RoiPoolGrad and RoiPoolGradGrad, beside
// those that all ops over regions share (regions_checks.h).

#ifndef TENSORFLOW_EXT_OPS_ROI_POOL_ROI_POOL_CHECKS_H_
#define TENSORFLOW_EXT_OPS_ROI_POOL_ROI_POOL_CHECKS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/regions_checks.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool.h"

namespace tensorflow_ext {

// Each fills in `dims`. `op` is the op's name, `name` an argument's.

// Images: [N, H, W, C], where an element's index in its image is an int32.
absl::Status ReadImageDims(const std::string& op, const char* name,
                           const tensorflow::TensorShape& shape,
                           RoiPoolDims* dims);

// argmax: [R, PH, PW, C] for the R and C that `dims` has.
absl::Status ReadArgmaxDims(const std::string& op,
                            const tensorflow::TensorShape& argmax,
                            RoiPoolDims* dims);

// gradients: the shape of argmax.
absl::Status CheckPooledGradients(const std::string& op,
                                  const tensorflow::TensorShape& gradients,
                                  const tensorflow::TensorShape& argmax);

// The error for row `row` of bins, in which an entry of argmax is neither -1
// nor an element of its channel: it names the first one.
absl::Status ArgmaxError(const std::string& op, const RoiPoolDims& dims,
                         const int32_t* argmax, int64_t row);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_ROI_POOL_ROI_POOL_CHECKS_H_
