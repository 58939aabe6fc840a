// Checks of the arguments of RoiPool, RoiPoolGrad and RoiPoolGradGrad, in addition to those that
// all ops over regions share (regions_checks.h). Each fills in its part of `dims`. `op` is the op's
// name.

#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/images_checks.h"
#include "tensorflow_ext/kernels/regions_checks.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool.h"

namespace tensorflow_ext {

// Reads images, argument `name`: [N, H, W, C]. An element's index in its image must be an int32.
inline absl::Status ReadImageDims(const std::string& op, const char* name,
                                  const tensorflow::TensorShape& shape, RoiPoolDims* dims) {
  TF_RETURN_IF_ERROR(ReadDataDims(op, name, shape, dims));
  // This holds also if another size is 0, so no product below overflows.
  constexpr double kLimit = 1.0 + std::numeric_limits<int32_t>::max();
  const double pixels = static_cast<double>(dims->height) * static_cast<double>(dims->width);
  if (pixels >= kLimit || dims->channels >= kLimit ||
      pixels * static_cast<double>(dims->channels) >= kLimit) {
    return ShapeError(op, name, shape,
                      "H * W * C below 2^31, the range of argmax: split the "
                      "channels or the images");
  }
  return absl::OkStatus();
}

// The error for an argmax without the rois' regions or the images' channels.
inline absl::Status WrongArgmaxShape(absl::string_view op, absl::string_view argmax,
                                     absl::string_view expected) {
  return ShapeError(op, "argmax", argmax,
                    absl::StrCat("that of RoiPool's output, ", expected,
                                 ", for the regions in rois and the images' channels"));
}

// Reads argmax: [R, PH, PW, C] for the R and C of `dims`.
inline absl::Status ReadArgmaxDims(const std::string& op, const tensorflow::TensorShape& argmax,
                                   RoiPoolDims* dims) {
  if (argmax.dims() != 4 || argmax.dim_size(0) != dims->rois ||
      argmax.dim_size(3) != dims->channels) {
    return WrongArgmaxShape(op, argmax.DebugString(),
                            absl::StrCat("[", dims->rois, ",PH,PW,", dims->channels, "]"));
  }
  dims->pooled_height = argmax.dim_size(1);
  dims->pooled_width = argmax.dim_size(2);
  return absl::OkStatus();
}

// Checks that gradients has the shape of argmax.
inline absl::Status CheckPooledGradients(const std::string& op,
                                         const tensorflow::TensorShape& gradients,
                                         const tensorflow::TensorShape& argmax) {
  return CheckShapeOf(op, "gradients", gradients, "argmax", argmax);
}

// The error for row `row` of bins. It names the first entry of argmax that is neither -1 nor an
// element of its channel.
inline absl::Status ArgmaxError(const std::string& op, const RoiPoolDims& dims,
                                const int32_t* argmax, int64_t row) {
  int64_t index = row * dims.row_size();
  while (argmax[index] == -1 || IsElementOfChannel(argmax[index], index % dims.channels, dims)) {
    ++index;
  }
  const int64_t channel = index % dims.channels;
  const int64_t bin = index / dims.channels;
  return absl::InvalidArgumentError(absl::StrCat(
      op, ": argument 'argmax' is ", argmax[index], " at [", row / dims.pooled_height, ", ",
      row % dims.pooled_height, ", ", bin % dims.pooled_width, ", ", channel,
      "], expected -1 or the index of an element of channel ", channel, " in an image of ",
      dims.height, " * ", dims.width, " * ", dims.channels, " elements, as RoiPool gives it"));
}

}  // namespace tensorflow_ext
