// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/roi_pool/roi_pool_checks.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tensorflow_ext/kernels/argument_shape.h"

namespace tensorflow_ext {

using tensorflow::TensorShape;

absl::Status ReadImageDims(const std::string& op, const char* name,
                           const TensorShape& shape, RoiPoolDims* dims) {
  if (shape.dims() != 4) {
    return ShapeError(op, name, shape, "rank 4, images [N, H, W, C]");
  }
  dims->images = shape.dim_size(0);
  dims->height = shape.dim_size(1);
  dims->width = shape.dim_size(2);
  dims->channels = shape.dim_size(3);
  // Also where another size is 0, so that no product below overflows.
  constexpr double kLimit = 1.0 + std::numeric_limits<int32_t>::max();
  const double pixels =
      static_cast<double>(dims->height) * static_cast<double>(dims->width);
  if (pixels >= kLimit || dims->channels >= kLimit ||
      pixels * static_cast<double>(dims->channels) >= kLimit) {
    return ShapeError(op, name, shape,
                      "H * W * C below 2^31, the range of argmax: split the "
                      "channels or the images");
  }
  return absl::OkStatus();
}

absl::Status ReadRoiDims(const std::string& op, const TensorShape& rois,
                         RoiPoolDims* dims) {
  if (rois.dims() != 2 || rois.dim_size(1) != 5) {
    return ShapeError(op, "rois", rois,
                      "[R, 5], rows of (batch index, x1, y1, x2, y2)");
  }
  dims->rois = rois.dim_size(0);
  return absl::OkStatus();
}

absl::Status ReadArgmaxDims(const std::string& op, const TensorShape& argmax,
                            RoiPoolDims* dims) {
  if (argmax.dims() != 4 || argmax.dim_size(0) != dims->rois ||
      argmax.dim_size(3) != dims->channels) {
    return ShapeError(
        op, "argmax", argmax,
        absl::StrCat("that of RoiPool's output, [", dims->rois, ", PH, PW, ",
                     dims->channels,
                     "], for the regions in rois and the images' channels"));
  }
  dims->pooled_height = argmax.dim_size(1);
  dims->pooled_width = argmax.dim_size(2);
  return absl::OkStatus();
}

absl::Status CheckPooledGradients(const std::string& op,
                                  const TensorShape& gradients,
                                  const TensorShape& argmax) {
  if (gradients == argmax) return absl::OkStatus();
  return ShapeError(op, "gradients", gradients,
                    absl::StrCat("that of 'argmax', ", argmax.DebugString()));
}

absl::Status PooledShape(const RoiPoolDims& dims, TensorShape* shape) {
  return TensorShape::BuildTensorShape(
      {dims.rois, dims.pooled_height, dims.pooled_width, dims.channels}, shape);
}

absl::Status ReadImages(const std::string& op, NumericType type,
                        const RoiPoolDims& dims, const void* rois,
                        std::vector<int64_t>* images) {
  images->resize(dims.rois);
  RoiImagesCpu(type, dims, rois, images->data());
  const auto wrong = std::find(images->begin(), images->end(), -1);
  if (wrong == images->end()) return absl::OkStatus();
  const int64_t row = wrong - images->begin();
  return absl::InvalidArgumentError(absl::StrCat(
      op, ": argument 'rois' has batch index ", RoiBatchIndex(type, rois, row),
      " in row ", row, ", expected one of the ", dims.images,
      " images, in [0, ", dims.images, ")"));
}

absl::Status ArgmaxError(const std::string& op, const RoiPoolDims& dims,
                         const int32_t* argmax, int64_t row) {
  int64_t index = row * dims.row_size();
  while (argmax[index] == -1 ||
         IsElementOfChannel(argmax[index], index % dims.channels, dims)) {
    ++index;
  }
  const int64_t channel = index % dims.channels;
  const int64_t bin = index / dims.channels;
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": argument 'argmax' is ", argmax[index], " at [",
                   row / dims.pooled_height, ", ", row % dims.pooled_height,
                   ", ", bin % dims.pooled_width, ", ", channel,
                   "], expected -1 or the index of an element of channel ",
                   channel, " in an image of ", dims.height, " * ", dims.width,
                   " * ", dims.channels, " elements, as RoiPool gives it"));
}

}  // namespace tensorflow_ext
