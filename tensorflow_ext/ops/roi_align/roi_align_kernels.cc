#include <algorithm>
#include <cstdint>
#include <vector>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/determinism.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/typed_op.h"
#include "tensorflow_ext/ops/roi_align/roi_align.h"
#include "tensorflow_ext/ops/roi_align/roi_align_checks.h"

namespace tensorflow_ext {
namespace {

// ----- Checks and allocation, for both devices. -----

// The base of both ops: attributes, and scratch for the weights.
class RoiAlignBase : public TypedOp {
 public:
  explicit RoiAlignBase(OpKernelConstruction* context) : TypedOp(context) {
    OP_REQUIRES_OK(context, attributes_.Read(context, type_string()));
  }

 protected:
  // Allocates memory for the weights of all regions.
  absl::Status AllocateScratch(OpKernelContext* context, const RegionDims& dims,
                               Tensor* scratch) const {
    constexpr double kLimit = int64_t{1} << 60;
    const double bytes = RoiAlignScratchBytes(type_, dims);
    if (bytes > kLimit) {
      return absl::InvalidArgumentError(
          absl::StrCat(type_string(), ": the weights of ", dims.rois, " regions with ",
                       dims.pooled_height, " * ", dims.pooled_width, " bins on images of ",
                       dims.height, " * ", dims.width, " pixels take ", bytes,
                       " bytes, expected a size that memory can have: split the regions"));
    }
    return context->allocate_temp(tensorflow::DT_INT8, TensorShape({static_cast<int64_t>(bytes)}),
                                  scratch);
  }

  // Computes the weights of all regions on the CPU.
  absl::Status Prepare(OpKernelContext* context, const RegionDims& dims, const void* rois,
                       Tensor* scratch) const {
    TF_RETURN_IF_ERROR(AllocateScratch(context, dims, scratch));
    const int64_t cost = 40 * RoiAlignWeights<float>::RangesOfRegion(dims);
    void* weights = Data(scratch);
    Parallel(context, dims.rois, cost, [&](int64_t begin, int64_t end) {
      RoiAlignWeightsCpu(type_, dims, attributes_.options(), rois, weights, begin, end);
    });
    return absl::OkStatus();
  }

  RoiAlignAttributes attributes_;
};

class RoiAlignOp : public RoiAlignBase {
 public:
  using RoiAlignBase::RoiAlignBase;

  void Compute(OpKernelContext* context) override {
    const Tensor& data = context->input(0);
    const Tensor& rois = context->input(1);
    RegionDims dims{};
    TensorShape shape;
    OP_REQUIRES_OK(context, ReadRoiAlignDims(type_string(), "data", data.shape(), rois.shape(),
                                             attributes_, &dims, &shape));
    Tensor* pooled = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &pooled));
    Launch(context, dims, Data(data), Data(rois), pooled);
  }

 protected:
  virtual void Launch(OpKernelContext* context, const RegionDims& dims, const void* data,
                      const void* rois, Tensor* pooled) = 0;
};

class RoiAlignGradOp : public RoiAlignBase {
 public:
  using RoiAlignBase::RoiAlignBase;

  void Compute(OpKernelContext* context) override {
    const Tensor& gradients = context->input(0);
    const Tensor& rois = context->input(1);
    RegionDims dims{};
    TensorShape data_shape, pooled;
    OP_REQUIRES_OK(context, ReadDataShape(type_string(), context->input(2), &data_shape));
    OP_REQUIRES_OK(context, ReadRoiAlignDims(type_string(), "data_shape", data_shape, rois.shape(),
                                             attributes_, &dims, &pooled));
    OP_REQUIRES_OK(context, CheckRoiAlignGradients(type_string(), gradients.shape(), pooled));
    Tensor* backprops = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, data_shape, &backprops));
    Launch(context, dims, Data(gradients), Data(rois), backprops);
  }

 protected:
  virtual void Launch(OpKernelContext* context, const RegionDims& dims, const void* gradients,
                      const void* rois, Tensor* backprops) = 0;
};

// ----- CPU. -----

class RoiAlignCpuOp final : public RoiAlignOp {
  using RoiAlignOp::RoiAlignOp;

  void Launch(OpKernelContext* context, const RegionDims& dims, const void* data, const void* rois,
              Tensor* pooled) override {
    std::vector<int64_t> images;
    OP_REQUIRES_OK(context, ReadImages(type_string(), type_, dims, rois, &images));
    if (pooled->NumElements() == 0) return;
    Tensor scratch;
    OP_REQUIRES_OK(context, Prepare(context, dims, rois, &scratch));
    void* weights = Data(&scratch);
    void* output = Data(pooled);
    Parallel(context, dims.rois * dims.pooled_height, dims.row_size() * kPixelsOfABin / 4,
             [&](int64_t begin, int64_t end) {
               RoiAlignCpu(type_, dims, images.data(), data, weights, output, begin, end);
             });
  }
};

class RoiAlignGradCpuOp final : public RoiAlignGradOp {
  using RoiAlignGradOp::RoiAlignGradOp;

  void Launch(OpKernelContext* context, const RegionDims& dims, const void* gradients,
              const void* rois, Tensor* backprops) override {
    std::vector<int64_t> images;
    OP_REQUIRES_OK(context, ReadImages(type_string(), type_, dims, rois, &images));
    const int64_t size = backprops->NumElements();
    if (size == 0) return;
    Tensor scratch, sums;
    OP_REQUIRES_OK(context, Prepare(context, dims, rois, &scratch));
    OP_REQUIRES_OK(context, AllocateSums(context, type_, size, &sums));
    void* weights = Data(&scratch);
    float* sum = static_cast<float*>(Data(&sums));
    void* output = Data(backprops);
    const std::vector<std::vector<int64_t>> rois_of = RoisOfImages(dims, images);

    // Each row of an image belongs to one thread, so no sum is shared. Regions cluster; more parts
    // than threads balance the load.
    const int64_t wanted = 4 * Workers(context)->NumThreads();
    const int64_t parts =
        std::clamp<int64_t>((wanted + dims.images - 1) / dims.images, 1, dims.height);
    const int64_t cost = (size + dims.pooled_size() * kPixelsOfABin / 2) / (dims.images * parts);
    Parallel(context, dims.images * parts, cost, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        const int64_t image = k / parts, part = k % parts;
        RoiAlignGradCpu(type_, dims, gradients, rois_of[image].data(), rois_of[image].size(),
                        weights, image, part * dims.height / parts,
                        (part + 1) * dims.height / parts, sum, output);
      }
    });
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>RoiAlign").Device(DEVICE_CPU), RoiAlignCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>RoiAlignGrad").Device(DEVICE_CPU), RoiAlignGradCpuOp);

// ----- GPU. -----

#if TENSORFLOW_EXT_CUDA

class RoiAlignGpuOp final : public RoiAlignOp {
  using RoiAlignOp::RoiAlignOp;

  void Launch(OpKernelContext* context, const RegionDims& dims, const void* data, const void* rois,
              Tensor* pooled) override {
    if (pooled->NumElements() == 0) return;
    Tensor scratch;
    OP_REQUIRES_OK(context, AllocateScratch(context, dims, &scratch));
    const int error = LaunchRoiAlign(type_, dims, attributes_.options(), data, rois, Data(&scratch),
                                     Data(pooled), GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

class RoiAlignGradGpuOp final : public RoiAlignGradOp {
  using RoiAlignGradOp::RoiAlignGradOp;

  void Launch(OpKernelContext* context, const RegionDims& dims, const void* gradients,
              const void* rois, Tensor* backprops) override {
    const int64_t size = backprops->NumElements();
    if (size == 0) return;
    Tensor scratch, sums;
    OP_REQUIRES_OK(context, AllocateScratch(context, dims, &scratch));
    OP_REQUIRES_OK(context, AllocateSums(context, type_, size, &sums));
    const int error = LaunchRoiAlignGrad(
        type_, dims, attributes_.options(), tensorflow::OpDeterminismRequired(), gradients, rois,
        Data(&scratch), static_cast<float*>(Data(&sums)), Data(backprops), GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>RoiAlign").Device(DEVICE_GPU), RoiAlignGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>RoiAlignGrad").Device(DEVICE_GPU).HostMemory("data_shape"),
                        RoiAlignGradGpuOp);

#endif

}  // namespace
}  // namespace tensorflow_ext
