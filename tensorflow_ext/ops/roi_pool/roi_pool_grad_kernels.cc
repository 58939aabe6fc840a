// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <vector>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/determinism.h"
#include "tensorflow_ext/kernels/parallel.h"
#include "tensorflow_ext/kernels/tensor_type.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool_checks.h"
#include "tensorflow_ext/registration.h"

#if TENSORFLOW_EXT_CUDA
#include "tensorflow_ext/kernels/gpu_stream.h"
#endif

namespace tensorflow_ext {
namespace {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

const int32_t* Argmax(const Tensor& tensor) {
  return static_cast<const int32_t*>(Data(tensor));
}

// ----- RoiPoolGrad -----

class RoiPoolGradOp : public OpKernel {
 public:
  explicit RoiPoolGradOp(OpKernelConstruction* context)
      : OpKernel(context), type_(NumericTypeOf(context->input_type(0))) {}

  void Compute(OpKernelContext* context) override {
    const Tensor& gradients = context->input(0);
    const Tensor& rois = context->input(1);
    const Tensor& argmax = context->input(2);
    TensorShape shape;
    OP_REQUIRES_OK(context,
                   ReadDataShape(type_string(), context->input(3), &shape));
    RoiPoolDims dims{};
    OP_REQUIRES_OK(context,
                   ReadImageDims(type_string(), "data_shape", shape, &dims));
    OP_REQUIRES_OK(context, ReadRoiDims(type_string(), rois.shape(), &dims));
    OP_REQUIRES_OK(context,
                   ReadArgmaxDims(type_string(), argmax.shape(), &dims));
    OP_REQUIRES_OK(
        context,
        CheckPooledGradients(type_string(), gradients.shape(), argmax.shape()));
    Tensor* backprops = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &backprops));
    Launch(context, dims, Data(gradients), Data(rois), Argmax(argmax),
           Data(backprops));
  }

 protected:
  virtual void Launch(OpKernelContext* context, const RoiPoolDims& dims,
                      const void* gradients, const void* rois,
                      const int32_t* argmax, void* backprops) = 0;

  const NumericType type_;
};

class RoiPoolGradCpuOp final : public RoiPoolGradOp {
  using RoiPoolGradOp::RoiPoolGradOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims,
              const void* gradients, const void* rois, const int32_t* argmax,
              void* backprops) override {
    std::vector<int64_t> images;
    OP_REQUIRES_OK(context,
                   ReadImages(type_string(), type_, dims, rois, &images));
    if (dims.images * dims.image_size() == 0) return;
    std::vector<ElementRange> elements;
    OP_REQUIRES_OK(context, ReadElements(context, dims, argmax, &elements));

    const std::vector<std::vector<int64_t>> rois_of =
        RoisOfImages(dims, images);

    // A part of an image belongs to one thread, so that no sum is shared. A row
    // of bins is gone through once for each part that it points into: more
    // parts than the threads need cost time.
    const int64_t parts = PartsOfAnImage(context, dims);
    const int64_t cost = (dims.image_size() + 4 * dims.pooled_size()) / parts;
    const bool apart = IsHalfType(type_);
    Parallel(
        context, dims.images * parts, cost, [&](int64_t first, int64_t last) {
          std::unique_ptr<float[]> sums;
          if (apart) sums.reset(new float[dims.image_size() / parts + 1]);
          for (int64_t k = first; k < last; ++k) {
            const int64_t image = k / parts, part = k % parts;
            RoiPoolGradCpu(
                type_, dims, gradients, argmax, rois_of[image].data(),
                rois_of[image].size(), elements.data(), image,
                part * dims.image_size() / parts,
                (part + 1) * dims.image_size() / parts, sums.get(), backprops);
          }
        });
  }

  static int64_t PartsOfAnImage(OpKernelContext* context,
                                const RoiPoolDims& dims) {
    constexpr int64_t kSmallest = 4096;
    const int64_t wanted = 2 * Workers(context)->NumThreads();
    return std::clamp<int64_t>((wanted + dims.images - 1) / dims.images, 1,
                               1 + dims.image_size() / kSmallest);
  }

  // What each row of bins points at, checked.
  absl::Status ReadElements(OpKernelContext* context, const RoiPoolDims& dims,
                            const int32_t* argmax,
                            std::vector<ElementRange>* elements) const {
    elements->resize(dims.rois * dims.pooled_height);
    FirstIndex wrong;
    Parallel(context, elements->size(), dims.row_size(),
             [&](int64_t begin, int64_t end) {
               for (int64_t row = begin; row < end; ++row) {
                 if (!ArgmaxElements(dims, argmax + row * dims.row_size(),
                                     &(*elements)[row])) {
                   wrong.Report(row);
                   return;
                 }
               }
             });
    return wrong.found()
               ? ArgmaxError(type_string(), dims, argmax, wrong.index())
               : absl::OkStatus();
  }
};

// ----- RoiPoolGradGrad -----

class RoiPoolGradGradOp : public OpKernel {
 public:
  explicit RoiPoolGradGradOp(OpKernelConstruction* context)
      : OpKernel(context), type_(NumericTypeOf(context->input_type(0))) {}

  void Compute(OpKernelContext* context) override {
    const Tensor& gradients = context->input(0);
    const Tensor& rois = context->input(1);
    const Tensor& argmax = context->input(2);
    RoiPoolDims dims{};
    OP_REQUIRES_OK(context, ReadImageDims(type_string(), "gradients",
                                          gradients.shape(), &dims));
    OP_REQUIRES_OK(context, ReadRoiDims(type_string(), rois.shape(), &dims));
    OP_REQUIRES_OK(context,
                   ReadArgmaxDims(type_string(), argmax.shape(), &dims));
    Tensor* backprops = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, argmax.shape(), &backprops));
    Launch(context, dims, Data(gradients), Data(rois), Argmax(argmax),
           Data(backprops));
  }

 protected:
  virtual void Launch(OpKernelContext* context, const RoiPoolDims& dims,
                      const void* gradients, const void* rois,
                      const int32_t* argmax, void* backprops) = 0;

  const NumericType type_;
};

class RoiPoolGradGradCpuOp final : public RoiPoolGradGradOp {
  using RoiPoolGradGradOp::RoiPoolGradGradOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims,
              const void* gradients, const void* rois, const int32_t* argmax,
              void* backprops) override {
    std::vector<int64_t> images;
    OP_REQUIRES_OK(context,
                   ReadImages(type_string(), type_, dims, rois, &images));
    if (dims.pooled_size() == 0) return;
    FirstIndex wrong;
    Parallel(context, dims.rois * dims.pooled_height, 4 * dims.row_size(),
             [&](int64_t begin, int64_t end) {
               for (int64_t row = begin; row < end; ++row) {
                 if (!RoiPoolGradGradCpu(type_, dims, gradients,
                                         images[row / dims.pooled_height],
                                         argmax, row, backprops)) {
                   wrong.Report(row);
                   return;
                 }
               }
             });
    OP_REQUIRES(context, !wrong.found(),
                ArgmaxError(type_string(), dims, argmax, wrong.index()));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>RoiPoolGrad").Device(DEVICE_CPU),
                        RoiPoolGradCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>RoiPoolGradGrad").Device(DEVICE_CPU),
                        RoiPoolGradGradCpuOp);

#if TENSORFLOW_EXT_CUDA

class RoiPoolGradGpuOp final : public RoiPoolGradOp {
  using RoiPoolGradOp::RoiPoolGradOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims,
              const void* gradients, const void* rois, const int32_t* argmax,
              void* backprops) override {
    const bool ordered = tensorflow::OpDeterminismRequired();
    const bool apart = IsHalfType(type_);
    static_assert(sizeof(ElementRange) == 2 * sizeof(int32_t));
    const int64_t ranges = dims.rois * (1 + dims.pooled_height);
    const int64_t sums = dims.images * dims.image_size();
    Tensor scratch;
    OP_REQUIRES_OK(context,
                   context->allocate_temp(
                       ordered ? tensorflow::DT_INT32 : tensorflow::DT_FLOAT,
                       TensorShape({ordered ? 2 * ranges
                                    : apart ? sums
                                            : 0}),
                       &scratch));
    const int error =
        ordered ? LaunchRoiPoolGradDeterministic(
                      type_, dims, gradients, rois, argmax,
                      static_cast<ElementRange*>(Data(&scratch)), backprops,
                      GpuStream(context))
                : LaunchRoiPoolGrad(type_, dims, gradients, rois, argmax,
                                    static_cast<float*>(Data(&scratch)),
                                    backprops, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

class RoiPoolGradGradGpuOp final : public RoiPoolGradGradOp {
  using RoiPoolGradGradOp::RoiPoolGradGradOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims,
              const void* gradients, const void* rois, const int32_t* argmax,
              void* backprops) override {
    const int error = LaunchRoiPoolGradGrad(
        type_, dims, gradients, rois, argmax, backprops, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

REGISTER_KERNEL_BUILDER(
    Name("TfExt>RoiPoolGrad").Device(DEVICE_GPU).HostMemory("data_shape"),
    RoiPoolGradGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>RoiPoolGradGrad").Device(DEVICE_GPU),
                        RoiPoolGradGradGpuOp);

#endif

}  // namespace
}  // namespace tensorflow_ext
