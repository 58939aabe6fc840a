// The attributes and shapes of CorrelationCost and its gradients. Shape functions, kernels and XLA
// lowerings share these checks. Errors are InvalidArgument and name the op, the problem and what
// was expected.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/images_checks.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"

namespace tensorflow_ext {

constexpr char kTooManyCosts[] = "lower max_displacement or raise stride_2";
constexpr char kCostsExpected[] = "rank 4, [N, OH, OW, D * D]";

struct CorrelationCostAttributes {
  // Larger attributes could overflow the arithmetic of positions.
  static constexpr int64_t kMaxPixels = int64_t{1} << 30;

  std::string op;
  int64_t kernel_size = 1;
  int64_t max_displacement = 0;
  int64_t stride_1 = 1;
  int64_t stride_2 = 1;
  int64_t pad = 0;

  // `Context` is an InferenceContext or an OpKernelConstruction. `name` is the op's.
  template <typename Context>
  absl::Status Read(const std::string& name, Context* context) {
    op = name;
    absl::Status status;
    status.Update(ReadOne(context, "kernel_size", &kernel_size));
    status.Update(ReadOne(context, "max_displacement", &max_displacement));
    status.Update(ReadOne(context, "stride_1", &stride_1));
    status.Update(ReadOne(context, "stride_2", &stride_2));
    status.Update(ReadOne(context, "pad", &pad));
    if (status.ok() && kernel_size % 2 == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(op, ": attribute 'kernel_size' is ", kernel_size,
                       ", expected an odd number: a window has a middle"));
    }
    return status;
  }

  // D: the number of displacements along one axis.
  int64_t displacements() const { return 2 * (max_displacement / stride_2) + 1; }

  // The output's height or width for an image with `pixels` rows or columns. `name` and `shape` are
  // those of the argument, for the error message.
  absl::Status OutputPixels(const char* name, absl::string_view shape, int64_t pixels,
                            int64_t* outputs) const {
    if (pixels > kMaxPixels) {
      return ShapeError(op, name, shape,
                        absl::StrCat("a height and a width of at most ", kMaxPixels));
    }
    const int64_t border = max_displacement + (kernel_size - 1) / 2;
    const int64_t span = pixels + 2 * pad - 2 * border;
    if (span <= 0) {
      return ShapeError(op, name, shape,
                        absl::StrCat("a height and a width above ", 2 * (border - pad),
                                     ", which is 2 * (max_displacement + (kernel_size - 1) / "
                                     "2 - pad), for max_displacement ",
                                     max_displacement, ", kernel_size ", kernel_size, " and pad ",
                                     pad, ": raise pad"));
    }
    *outputs = (span + stride_1 - 1) / stride_1;
    return absl::OkStatus();
  }

  // Fills in `dims` for images of `shape`; `name` is the argument.
  absl::Status ReadImages(const char* name, const tensorflow::TensorShape& shape,
                          CorrelationCostDims* dims) const {
    absl::Status status = ReadDataDims(op, name, shape, dims);
    if (!status.ok()) return status;
    dims->displacements = displacements();
    dims->kernel_size = kernel_size;
    dims->max_displacement = max_displacement;
    dims->stride_1 = stride_1;
    dims->stride_2 = stride_2;
    dims->pad = pad;
    const std::string text = shape.DebugString();
    status.Update(OutputPixels(name, text, dims->height, &dims->output_height));
    status.Update(OutputPixels(name, text, dims->width, &dims->output_width));
    return status;
  }

  // The shape of the output. It is an error if it has too many elements.
  absl::Status OutputShape(const CorrelationCostDims& dims, tensorflow::TensorShape* shape) const {
    return BuildOutputShape(
        op, {dims.images, dims.output_height, dims.output_width, dims.output_channels()},
        kTooManyCosts, shape);
  }

  // Checks that gradients has the shape of CorrelationCost's output.
  absl::Status CheckGradients(const tensorflow::TensorShape& gradients,
                              const CorrelationCostDims& dims) const {
    tensorflow::TensorShape shape;
    TF_RETURN_IF_ERROR(OutputShape(dims, &shape));
    return CheckShapeOf(op, "gradients", gradients, "output of CorrelationCost", shape);
  }

 private:
  template <typename Context>
  absl::Status ReadOne(Context* context, const char* name, int64_t* value) const {
    const absl::Status status = context->GetAttr(name, value);
    if (!status.ok() || *value <= kMaxPixels) return status;
    return absl::InvalidArgumentError(absl::StrCat(op, ": attribute '", name, "' is ", *value,
                                                   ", expected at most ", kMaxPixels, " pixels"));
  }
};

}  // namespace tensorflow_ext
