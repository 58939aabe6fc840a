#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/determinism.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/typed_op.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool_checks.h"

namespace tensorflow_ext {
namespace {

// ----- Checks and allocation, for both devices. -----

class RoiPoolOp : public TypedOp {
 public:
  explicit RoiPoolOp(OpKernelConstruction* context) : TypedOp(context) {
    OP_REQUIRES_OK(context, attributes_.Read(context, type_string()));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& data = context->input(0);
    const Tensor& rois = context->input(1);
    RoiPoolDims dims{};
    dims.pooled_height = attributes_.pooled_height;
    dims.pooled_width = attributes_.pooled_width;
    OP_REQUIRES_OK(context, ReadImageDims(type_string(), "data", data.shape(), &dims));
    OP_REQUIRES_OK(context, ReadRoiDims(type_string(), rois.shape(), &dims));
    TensorShape shape;
    OP_REQUIRES_OK(context, PooledShape(type_string(), dims, &shape));
    Tensor* pooled = nullptr;
    Tensor* argmax = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &pooled));
    OP_REQUIRES_OK(context, context->allocate_output(1, shape, &argmax));
    Launch(context, dims, Data(data), Data(rois), Data(pooled),
           static_cast<int32_t*>(Data(argmax)));
  }

 protected:
  // pooled and argmax may be empty.
  virtual void Launch(OpKernelContext* context, const RoiPoolDims& dims, const void* data,
                      const void* rois, void* pooled, int32_t* argmax) = 0;

  RegionAttributes attributes_;
};

// RoiPoolGrad adds each bin's gradient at its argmax. Its transpose RoiPoolGradGrad reads there.
// Images are the output of RoiPoolGrad, whose fourth input is their shape, and the first input of
// RoiPoolGradGrad.
class RoiPoolGradOp : public TypedOp {
 public:
  using TypedOp::TypedOp;

  void Compute(OpKernelContext* context) override {
    const Tensor& gradients = context->input(0);
    const Tensor& rois = context->input(1);
    const Tensor& argmax = context->input(2);
    const bool gives_images = num_inputs() == 4;
    TensorShape images = gradients.shape();
    if (gives_images) {
      OP_REQUIRES_OK(context, ReadDataShape(type_string(), context->input(3), &images));
    }
    RoiPoolDims dims{};
    OP_REQUIRES_OK(context, ReadImageDims(type_string(), gives_images ? "data_shape" : "gradients",
                                          images, &dims));
    OP_REQUIRES_OK(context, ReadRoiDims(type_string(), rois.shape(), &dims));
    OP_REQUIRES_OK(context, ReadArgmaxDims(type_string(), argmax.shape(), &dims));
    if (gives_images) {
      OP_REQUIRES_OK(context,
                     CheckPooledGradients(type_string(), gradients.shape(), argmax.shape()));
    }
    Tensor* backprops = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, gives_images ? images : argmax.shape(), &backprops));
    Launch(context, dims, Data(gradients), Data(rois), static_cast<const int32_t*>(Data(argmax)),
           Data(backprops));
  }

 protected:
  // Every tensor may be empty.
  virtual void Launch(OpKernelContext* context, const RoiPoolDims& dims, const void* gradients,
                      const void* rois, const int32_t* argmax, void* backprops) = 0;
};

// ----- CPU. -----

// Calls fn(row), in parallel, for the rows of bins. fn returns false if an entry of argmax is
// wrong. The result is the error for the first such row.
template <typename Fn>
absl::Status ForRowsOfBins(OpKernelContext* context, const std::string& op, const RoiPoolDims& dims,
                           const int32_t* argmax, int64_t cost, Fn&& fn) {
  FirstIndex wrong;
  Parallel(context, dims.rois * dims.pooled_height, cost, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (fn(row)) continue;
      wrong.Report(row);
      return;
    }
  });
  return wrong.found() ? ArgmaxError(op, dims, argmax, wrong.index()) : absl::OkStatus();
}

class RoiPoolCpuOp final : public RoiPoolOp {
  using RoiPoolOp::RoiPoolOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims, const void* data, const void* rois,
              void* pooled, int32_t* argmax) override {
    std::vector<int64_t> images;
    OP_REQUIRES_OK(context, ReadImages(type_string(), type_, dims, rois, &images));
    if (dims.pooled_size() == 0) return;
    Parallel(context, dims.rois * dims.pooled_height, dims.row_size() * kPixelsOfABin,
             [&](int64_t begin, int64_t end) {
               RoiPoolCpu(type_, dims, attributes_.spatial_scale, data, rois, pooled, argmax, begin,
                          end);
             });
  }
};

class RoiPoolGradCpuOp final : public RoiPoolGradOp {
  using RoiPoolGradOp::RoiPoolGradOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims, const void* gradients,
              const void* rois, const int32_t* argmax, void* backprops) override {
    std::vector<int64_t> images;
    OP_REQUIRES_OK(context, ReadImages(type_string(), type_, dims, rois, &images));
    const int64_t size = dims.images * dims.image_size();
    if (size == 0) return;
    if (dims.pooled_size() == 0) {  // There may be many rows of no bins.
      std::memset(backprops, 0, size * tensorflow::DataTypeSize(context->input_dtype(0)));
      return;
    }
    // The elements that each row of bins points at.
    std::vector<ElementRange> elements(dims.rois * dims.pooled_height);
    OP_REQUIRES_OK(
        context,
        ForRowsOfBins(context, type_string(), dims, argmax, dims.row_size(), [&](int64_t row) {
          return ArgmaxElements(dims, argmax + row * dims.row_size(), &elements[row]);
        }));

    const std::vector<std::vector<int64_t>> rois_of = RoisOfImages(dims, images);

    // Each part of an image belongs to one thread, so no sum is shared. A row of bins is read once
    // for each part that it points into, so more parts than the threads need cost time.
    const int64_t parts = PartsOfAnImage(context, dims);
    const int64_t cost = (dims.image_size() + 4 * dims.pooled_size()) / parts;
    const bool apart = IsHalfType(type_);
    Parallel(context, dims.images * parts, cost, [&](int64_t first, int64_t last) {
      std::unique_ptr<float[]> sums;
      if (apart) sums.reset(new float[dims.image_size() / parts + 1]);
      for (int64_t k = first; k < last; ++k) {
        const int64_t image = k / parts, part = k % parts;
        RoiPoolGradCpu(type_, dims, gradients, argmax, rois_of[image].data(), rois_of[image].size(),
                       elements.data(), image, part * dims.image_size() / parts,
                       (part + 1) * dims.image_size() / parts, sums.get(), backprops);
      }
    });
  }

  static int64_t PartsOfAnImage(OpKernelContext* context, const RoiPoolDims& dims) {
    constexpr int64_t kSmallest = 4096;
    const int64_t wanted = 2 * Workers(context)->NumThreads();
    return std::clamp<int64_t>((wanted + dims.images - 1) / dims.images, 1,
                               1 + dims.image_size() / kSmallest);
  }
};

class RoiPoolGradGradCpuOp final : public RoiPoolGradOp {
  using RoiPoolGradOp::RoiPoolGradOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims, const void* gradients,
              const void* rois, const int32_t* argmax, void* backprops) override {
    std::vector<int64_t> images;
    OP_REQUIRES_OK(context, ReadImages(type_string(), type_, dims, rois, &images));
    if (dims.pooled_size() == 0) return;
    OP_REQUIRES_OK(
        context,
        ForRowsOfBins(context, type_string(), dims, argmax, 4 * dims.row_size(), [&](int64_t row) {
          return RoiPoolGradGradCpu(type_, dims, gradients, images[row / dims.pooled_height],
                                    argmax, row, backprops);
        }));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>RoiPool").Device(DEVICE_CPU), RoiPoolCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>RoiPoolGrad").Device(DEVICE_CPU), RoiPoolGradCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>RoiPoolGradGrad").Device(DEVICE_CPU), RoiPoolGradGradCpuOp);

// ----- GPU. -----

#if TENSORFLOW_EXT_CUDA

class RoiPoolGpuOp final : public RoiPoolOp {
  using RoiPoolOp::RoiPoolOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims, const void* data, const void* rois,
              void* pooled, int32_t* argmax) override {
    const int error = LaunchRoiPool(type_, dims, attributes_.spatial_scale, data, rois, pooled,
                                    argmax, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

class RoiPoolGradGpuOp final : public RoiPoolGradOp {
  using RoiPoolGradOp::RoiPoolGradOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims, const void* gradients,
              const void* rois, const int32_t* argmax, void* backprops) override {
    Tensor scratch;
    int error;
    if (tensorflow::OpDeterminismRequired()) {
      static_assert(sizeof(ElementRange) == 2 * sizeof(int32_t));
      const int64_t ranges = dims.rois * (1 + dims.pooled_height);
      OP_REQUIRES_OK(context, context->allocate_temp(tensorflow::DT_INT32,
                                                     TensorShape({2 * ranges}), &scratch));
      error = LaunchRoiPoolGradDeterministic(type_, dims, gradients, rois, argmax,
                                             static_cast<ElementRange*>(Data(&scratch)), backprops,
                                             GpuStream(context));
    } else {
      OP_REQUIRES_OK(context,
                     AllocateSums(context, type_, dims.images * dims.image_size(), &scratch));
      error = LaunchRoiPoolGrad(type_, dims, gradients, rois, argmax,
                                static_cast<float*>(Data(&scratch)), backprops, GpuStream(context));
    }
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

class RoiPoolGradGradGpuOp final : public RoiPoolGradOp {
  using RoiPoolGradOp::RoiPoolGradOp;

  void Launch(OpKernelContext* context, const RoiPoolDims& dims, const void* gradients,
              const void* rois, const int32_t* argmax, void* backprops) override {
    const int error =
        LaunchRoiPoolGradGrad(type_, dims, gradients, rois, argmax, backprops, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>RoiPool").Device(DEVICE_GPU), RoiPoolGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>RoiPoolGrad").Device(DEVICE_GPU).HostMemory("data_shape"),
                        RoiPoolGradGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>RoiPoolGradGrad").Device(DEVICE_GPU), RoiPoolGradGradGpuOp);

#endif

}  // namespace
}  // namespace tensorflow_ext
