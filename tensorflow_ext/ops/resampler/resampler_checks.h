// Checks of the Resampler ops' attributes and shapes, for shape functions, kernels and XLA
// lowerings. Errors are InvalidArgument and name the op, the argument, its value and what was
// expected. `op` is the op's name.

#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/images_checks.h"
#include "tensorflow_ext/ops/resampler/resampler.h"

namespace tensorflow_ext {

inline constexpr char kWarpExpected[] = "[N, ..., 2], points (x, y) on the N images of data";
inline constexpr char kTooManyPoints[] = "split the points in warp, or the images' channels";

// The attributes x_order and y_order. `Context` is an InferenceContext or an OpKernelConstruction.
template <typename Context>
absl::Status ReadOrder(Context* context, absl::string_view op, ResamplerOrder* order) {
  for (const auto& [name, value] :
       {std::pair("x_order", &order->x), std::pair("y_order", &order->y)}) {
    TF_RETURN_IF_ERROR(context->GetAttr(name, value));
    if (*value != 0 && *value != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(op, ": attribute '", name, "' is ", *value,
                       ", expected 0 or 1: within a cell of the pixel grid the value is "
                       "linear in each coordinate"));
    }
  }
  return absl::OkStatus();
}

// Reads the dimensions from the shapes of warp and of images (argument `name`). The shape of the
// output is that of warp with channels instead of x and y.
inline absl::Status ReadResamplerDims(const std::string& op, const char* name,
                                      const tensorflow::TensorShape& data,
                                      const tensorflow::TensorShape& warp, ResamplerDims* dims,
                                      tensorflow::TensorShape* output) {
  TF_RETURN_IF_ERROR(ReadInt32DataDims(op, name, data, dims));
  const int rank = warp.dims();
  if (rank < 2 || warp.dim_size(rank - 1) != 2 || warp.dim_size(0) != dims->images) {
    return ShapeError(op, "warp", warp,
                      absl::StrCat(kWarpExpected, ", data of shape ", data.DebugString()));
  }
  // Avoids the product of sizes if one is 0: it may be out of range.
  const int64_t points = warp.num_elements() / 2;
  dims->points = points == 0 ? 0 : points / dims->images;
  auto sizes = warp.dim_sizes();
  sizes.back() = dims->channels;
  return BuildOutputShape(op, sizes, kTooManyPoints, output);
}

// Checks that gradients has the shape of the output.
inline absl::Status CheckResamplerGradients(const std::string& op,
                                            const tensorflow::TensorShape& gradients,
                                            const tensorflow::TensorShape& output) {
  if (gradients == output) return absl::OkStatus();
  return ShapeError(op, "gradients", gradients,
                    absl::StrCat("that of Resampler's output, ", output.DebugString(),
                                 ", for the points in warp and the images' channels"));
}

}  // namespace tensorflow_ext
