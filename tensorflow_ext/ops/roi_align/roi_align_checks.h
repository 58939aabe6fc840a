// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_OPS_ROI_ALIGN_ROI_ALIGN_CHECKS_H_
#define TENSORFLOW_EXT_OPS_ROI_ALIGN_ROI_ALIGN_CHECKS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/regions_checks.h"
#include "tensorflow_ext/ops/roi_align/roi_align_attributes.h"

namespace tensorflow_ext {

// The dimensions of RoiAlign, from the shapes of images (argument `name`) and
// of rois, and the shape of pooled; for kernels and XLA lowerings.
inline absl::Status ReadRoiAlignDims(const std::string& op, const char* name,
                                     const tensorflow::TensorShape& data,
                                     const tensorflow::TensorShape& rois,
                                     const RoiAlignAttributes& attributes,
                                     RegionDims* dims,
                                     tensorflow::TensorShape* pooled) {
  TF_RETURN_IF_ERROR(ReadDataDims(op, name, data, dims));
  if (dims->height > INT32_MAX || dims->width > INT32_MAX) {
    return ShapeError(op, name, data, "H and W below 2^31");
  }
  TF_RETURN_IF_ERROR(ReadRoiDims(op, rois, dims));
  dims->pooled_height = attributes.pooled_height;
  dims->pooled_width = attributes.pooled_width;
  return PooledShape(*dims, pooled);
}

// gradients: the shape of pooled.
inline absl::Status CheckRoiAlignGradients(
    const std::string& op, const tensorflow::TensorShape& gradients,
    const tensorflow::TensorShape& pooled) {
  if (gradients == pooled) return absl::OkStatus();
  return ShapeError(
      op, "gradients", gradients,
      absl::StrCat("that of RoiAlign's output, ", pooled.DebugString(),
                   ", for the regions in rois, the attributes and the images' "
                   "channels"));
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_ROI_ALIGN_ROI_ALIGN_CHECKS_H_
