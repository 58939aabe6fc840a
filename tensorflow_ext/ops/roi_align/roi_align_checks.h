// The attributes and shapes of RoiAlign and RoiAlignGrad. Shape functions, kernels and XLA
// lowerings share these checks; see regions_checks.h.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/images_checks.h"
#include "tensorflow_ext/kernels/regions_checks.h"
#include "tensorflow_ext/ops/roi_align/roi_align.h"

namespace tensorflow_ext {

// The attributes of RoiAlign and RoiAlignGrad.
struct RoiAlignAttributes : RegionAttributes {
  int64_t sampling_ratio = 0;
  bool aligned = true;

  template <typename Context>
  absl::Status Read(Context* context, absl::string_view op) {
    absl::Status status = RegionAttributes::Read(context, op);
    status.Update(context->GetAttr("sampling_ratio", &sampling_ratio));
    status.Update(context->GetAttr("aligned", &aligned));
    if (status.ok() && sampling_ratio < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(op, ": attribute 'sampling_ratio' is ", sampling_ratio,
                       ", expected the number of samples along a side of a bin, or 0 for as "
                       "many as it has pixels"));
    }
    return status;
  }

  RoiAlignOptions options() const { return {spatial_scale, sampling_ratio, aligned}; }
};

// Reads the dimensions of RoiAlign and the shape of pooled from the shapes of rois and of images
// (argument `name`), for kernels and XLA lowerings.
inline absl::Status ReadRoiAlignDims(const std::string& op, const char* name,
                                     const tensorflow::TensorShape& data,
                                     const tensorflow::TensorShape& rois,
                                     const RoiAlignAttributes& attributes, RegionDims* dims,
                                     tensorflow::TensorShape* pooled) {
  TF_RETURN_IF_ERROR(ReadInt32DataDims(op, name, data, dims));
  TF_RETURN_IF_ERROR(ReadRoiDims(op, rois, dims));
  dims->pooled_height = attributes.pooled_height;
  dims->pooled_width = attributes.pooled_width;
  return PooledShape(op, *dims, pooled);
}

// Checks that gradients has the shape of pooled.
inline absl::Status CheckRoiAlignGradients(const std::string& op,
                                           const tensorflow::TensorShape& gradients,
                                           const tensorflow::TensorShape& pooled) {
  if (gradients == pooled) return absl::OkStatus();
  return ShapeError(op, "gradients", gradients,
                    absl::StrCat("that of RoiAlign's output, ", pooled.DebugString(),
                                 ", for the regions in rois, the attributes and the images' "
                                 "channels"));
}

}  // namespace tensorflow_ext
