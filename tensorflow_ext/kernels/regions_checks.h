// SPDX-License-Identifier: Apache-2.0
//
// Checks of the arguments that the ops over regions share: shapes, for kernels
// and XLA lowerings, and values, for the CPU. Errors are InvalidArgument naming
// op, argument, value and what was expected. `op` is the op's name, `name` an
// argument's; what reads a shape fills in its part of `dims`.

#ifndef TENSORFLOW_EXT_KERNELS_REGIONS_CHECKS_H_
#define TENSORFLOW_EXT_KERNELS_REGIONS_CHECKS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/regions.h"

namespace tensorflow_ext {

// Images: [N, H, W, C].
inline absl::Status ReadDataDims(const std::string& op, const char* name,
                                 const tensorflow::TensorShape& shape,
                                 RegionDims* dims) {
  if (absl::Status status =
          CheckRank(op, name, shape, 4, "rank 4, images [N, H, W, C]");
      !status.ok()) {
    return status;
  }
  dims->images = shape.dim_size(0);
  dims->height = shape.dim_size(1);
  dims->width = shape.dim_size(2);
  dims->channels = shape.dim_size(3);
  return absl::OkStatus();
}

// rois: [R, 5].
inline constexpr char kRoisExpected[] =
    "[R, 5], rows of (batch index, x1, y1, x2, y2)";

inline absl::Status ReadRoiDims(const std::string& op,
                                const tensorflow::TensorShape& rois,
                                RegionDims* dims) {
  if (rois.dims() != 2 || rois.dim_size(1) != 5) {
    return ShapeError(op, "rois", rois, kRoisExpected);
  }
  dims->rois = rois.dim_size(0);
  return absl::OkStatus();
}

// The same in a shape function, for input `index`; *num_rois is R.
inline absl::Status InferRois(
    tensorflow::shape_inference::InferenceContext* c, absl::string_view op,
    int index, tensorflow::shape_inference::DimensionHandle* num_rois) {
  tensorflow::shape_inference::ShapeHandle rois;
  tensorflow::shape_inference::DimensionHandle five;
  if (!c->WithRank(c->input(index), 2, &rois).ok() ||
      !c->WithValue(c->Dim(rois, 1), 5, &five).ok()) {
    return ShapeError(op, "rois", c->DebugString(c->input(index)),
                      kRoisExpected);
  }
  *num_rois = c->Dim(rois, 0);
  return absl::OkStatus();
}

// In the shape function of an op that gives images: *data is the value of input
// `index`, a data_shape, with the channels that `gradients` has.
inline absl::Status InferDataShape(
    tensorflow::shape_inference::InferenceContext* c, int index,
    tensorflow::shape_inference::ShapeHandle gradients,
    tensorflow::shape_inference::ShapeHandle* data) {
  tensorflow::shape_inference::DimensionHandle channels;
  TF_RETURN_IF_ERROR(c->MakeShapeFromShapeTensor(index, data));
  TF_RETURN_IF_ERROR(c->WithRank(*data, 4, data));
  TF_RETURN_IF_ERROR(
      c->Merge(c->Dim(*data, 3), c->Dim(gradients, 3), &channels));
  return c->ReplaceDim(*data, 3, channels, data);
}

// The shape of pooled; an error if it has too many elements.
inline absl::Status PooledShape(const RegionDims& dims,
                                tensorflow::TensorShape* shape) {
  return tensorflow::TensorShape::BuildTensorShape(
      {dims.rois, dims.pooled_height, dims.pooled_width, dims.channels}, shape);
}

// data_shape: [4], in host memory on every device.
inline absl::Status ReadDataShape(const std::string& op,
                                  const tensorflow::Tensor& tensor,
                                  tensorflow::TensorShape* shape) {
  absl::Status status = absl::InvalidArgumentError("not a vector of 4");
  if (tensor.dims() == 1 && tensor.NumElements() == 4) {
    status = tensorflow::tensor::MakeShape(tensor, shape);
  }
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      op, ": argument 'data_shape' of shape ", tensor.shape().DebugString(),
      " is [", tensor.SummarizeValue(8),
      "], expected 4 sizes N, H, W, C >= 0 whose product is that of a tensor"));
}

// The image that each region names.
inline absl::Status ReadImages(const std::string& op, NumericType type,
                               const RegionDims& dims, const void* rois,
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

// The regions on each image, in ascending order.
inline std::vector<std::vector<int64_t>> RoisOfImages(
    const RegionDims& dims, const std::vector<int64_t>& images) {
  std::vector<std::vector<int64_t>> rois(dims.images);
  for (int64_t r = 0; r < dims.rois; ++r) rois[images[r]].push_back(r);
  return rois;
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_REGIONS_CHECKS_H_
