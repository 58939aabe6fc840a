// SPDX-License-Identifier: Apache-2.0

#include <vector>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/kernels/parallel.h"
#include "tensorflow_ext/kernels/regions_attributes.h"
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

class RoiPoolOp : public OpKernel {
 public:
  explicit RoiPoolOp(OpKernelConstruction* context)
      : OpKernel(context), type_(NumericTypeOf(context->input_type(0))) {
    OP_REQUIRES_OK(context, attributes_.Read(context, type_string()));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& data = context->input(0);
    const Tensor& rois = context->input(1);
    RoiPoolDims dims{};
    dims.pooled_height = attributes_.pooled_height;
    dims.pooled_width = attributes_.pooled_width;
    OP_REQUIRES_OK(context,
                   ReadImageDims(type_string(), "data", data.shape(), &dims));
    OP_REQUIRES_OK(context, ReadRoiDims(type_string(), rois.shape(), &dims));
    TensorShape shape;
    OP_REQUIRES_OK(context, PooledShape(dims, &shape));
    Tensor* pooled = nullptr;
    Tensor* argmax = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &pooled));
    OP_REQUIRES_OK(context, context->allocate_output(1, shape, &argmax));
    Launch(context, dims, Data(data), Data(rois), Data(pooled),
           static_cast<int32_t*>(Data(argmax)));
  }

 protected:
  // pooled and argmax may be empty.
  virtual void Launch(OpKernelContext* context, const RoiPoolDims& dims,
                      const void* data, const void* rois, void* pooled,
                      int32_t* argmax) = 0;

  const NumericType type_;
  RegionAttributes attributes_;
};

class RoiPoolCpuOp final : public RoiPoolOp {
  using RoiPoolOp::RoiPoolOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims,
              const void* data, const void* rois, void* pooled,
              int32_t* argmax) override {
    std::vector<int64_t> images;
    OP_REQUIRES_OK(context,
                   ReadImages(type_string(), type_, dims, rois, &images));
    if (dims.pooled_size() == 0) return;
    // How many pixels a bin covers is the regions' affair: a guess.
    constexpr int64_t kPixelsOfABin = 16;
    Parallel(context, dims.rois * dims.pooled_height,
             dims.row_size() * kPixelsOfABin, [&](int64_t begin, int64_t end) {
               RoiPoolCpu(type_, dims, attributes_.spatial_scale, data, rois,
                          pooled, argmax, begin, end);
             });
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>RoiPool").Device(DEVICE_CPU), RoiPoolCpuOp);

#if TENSORFLOW_EXT_CUDA

class RoiPoolGpuOp final : public RoiPoolOp {
  using RoiPoolOp::RoiPoolOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims,
              const void* data, const void* rois, void* pooled,
              int32_t* argmax) override {
    const int error =
        LaunchRoiPool(type_, dims, attributes_.spatial_scale, data, rois,
                      pooled, argmax, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>RoiPool").Device(DEVICE_GPU), RoiPoolGpuOp);

#endif

}  // namespace
}  // namespace tensorflow_ext
