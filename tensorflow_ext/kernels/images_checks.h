// Checks of images [N, H, W, C], and of the argument 'data_shape' of an op that returns images,
// such as the gradient of an op that takes them. Errors are InvalidArgument and name the op, the
// argument, its value and what was expected. `op` is the op's name, `name` an argument's. A
// function that reads a shape fills in its part of `dims`.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tensorflow_ext/kernels/argument_shape.h"

namespace tensorflow_ext {

inline constexpr char kImagesExpected[] = "rank 4, images [N, H, W, C]";

// `Dims` has images, height, width and channels.
template <typename Dims>
absl::Status ReadDataDims(absl::string_view op, absl::string_view name,
                          const tensorflow::TensorShape& shape, Dims* dims) {
  TF_RETURN_IF_ERROR(CheckRank(op, name, shape, 4, kImagesExpected));
  dims->images = shape.dim_size(0);
  dims->height = shape.dim_size(1);
  dims->width = shape.dim_size(2);
  dims->channels = shape.dim_size(3);
  return absl::OkStatus();
}

// Images whose rows and columns fit an int32.
template <typename Dims>
absl::Status ReadInt32DataDims(absl::string_view op, absl::string_view name,
                               const tensorflow::TensorShape& shape, Dims* dims) {
  TF_RETURN_IF_ERROR(ReadDataDims(op, name, shape, dims));
  if (dims->height > INT32_MAX || dims->width > INT32_MAX) {
    return ShapeError(op, name, shape, "H and W below 2^31");
  }
  return absl::OkStatus();
}

// data_shape: [4], in host memory on every device.
inline absl::Status ReadDataShape(const std::string& op, const tensorflow::Tensor& tensor,
                                  tensorflow::TensorShape* shape) {
  absl::Status status = absl::InvalidArgumentError("not a vector of 4");
  if (tensor.dims() == 1 && tensor.NumElements() == 4) {
    status = tensorflow::tensor::MakeShape(tensor, shape);
  }
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": argument 'data_shape' of shape ", tensor.shape().DebugString(), " is [",
                   tensor.SummarizeValue(8),
                   "], expected 4 sizes N, H, W, C >= 0 whose product is the size of a tensor"));
}

// The same in a shape function, for input `index`; unknown sizes stay unknown.
inline absl::Status InferDataShape(tensorflow::shape_inference::InferenceContext* c,
                                   const std::string& op, int index,
                                   tensorflow::shape_inference::ShapeHandle* data) {
  if (const tensorflow::Tensor* known = c->input_tensor(index)) {
    tensorflow::TensorShape shape;
    TF_RETURN_IF_ERROR(ReadDataShape(op, *known, &shape));
    return c->MakeShapeFromTensorShape(shape, data);
  }
  if (c->MakeShapeFromShapeTensor(index, data).ok() && c->WithRank(*data, 4, data).ok()) {
    return absl::OkStatus();
  }
  return ShapeError(op, "data_shape", c->DebugString(c->input(index)), "[4], the sizes N, H, W, C");
}

// Gives *data the channels in the last dimension of `gradients`.
inline absl::Status MergeChannels(tensorflow::shape_inference::InferenceContext* c,
                                  tensorflow::shape_inference::ShapeHandle gradients,
                                  tensorflow::shape_inference::ShapeHandle* data) {
  tensorflow::shape_inference::DimensionHandle channels;
  TF_RETURN_IF_ERROR(c->Merge(c->Dim(*data, 3), c->Dim(gradients, -1), &channels));
  return c->ReplaceDim(*data, 3, channels, data);
}

}  // namespace tensorflow_ext
