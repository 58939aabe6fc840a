// The kernels process bytes: an element is `kept` bytes, and zero is zero bytes in every type.

#include <algorithm>
#include <cstring>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/typed_op.h"
#include "tensorflow_ext/ops/zero_out/zero_out.h"

namespace tensorflow_ext {
namespace {

// ZeroOut and ZeroOutWithIndex. Only ZeroOutWithIndex has a second output.
class ZeroOutOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const Tensor& input = context->input(0);
    const void* data = Data(input);
    Tensor* zeroed = nullptr;
    OP_REQUIRES_OK(context,
                   context->forward_input_or_allocate_output({0}, 0, input.shape(), &zeroed));
    const int64_t size = zeroed->NumElements();
    if (num_outputs() == 2) {
      Tensor* index = nullptr;
      OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({size > 0 ? 1 : 0}), &index));
      if (size > 0) SetIndex(context, index);
    }
    if (size == 0) return;
    const int64_t kept = tensorflow::DataTypeSize(zeroed->dtype());
    ZeroOut(context, data, Data(zeroed), kept, kept * size);
  }

 private:
  // Sets the one element of `index`, int32, to 0.
  virtual void SetIndex(OpKernelContext* context, Tensor* index) = 0;

  // Like LaunchZeroOut in zero_out.h.
  virtual void ZeroOut(OpKernelContext* context, const void* input, void* output, int64_t kept,
                       int64_t size) = 0;
};

class ZeroOutCpuOp : public ZeroOutOp {
  using ZeroOutOp::ZeroOutOp;

  void SetIndex(OpKernelContext*, Tensor* index) override { index->vec<int32_t>()(0) = 0; }

  void ZeroOut(OpKernelContext* context, const void* input, void* output, int64_t kept,
               int64_t size) override {
    if (output != input) memcpy(output, input, kept);
    // memset writes about 4 bytes a cycle to memory: a unit of work is 4.
    constexpr int64_t kUnit = 4;
    char* const rest = static_cast<char*>(output) + kept;
    const int64_t rest_size = size - kept;
    Parallel(context, (rest_size + kUnit - 1) / kUnit, 1, [=](int64_t begin, int64_t end) {
      begin *= kUnit;
      memset(rest + begin, 0, std::min(end * kUnit, rest_size) - begin);
    });
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>ZeroOut").Device(DEVICE_CPU), ZeroOutCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ZeroOutWithIndex").Device(DEVICE_CPU), ZeroOutCpuOp);

#if TENSORFLOW_EXT_CUDA
class ZeroOutGpuOp : public ZeroOutOp {
  using ZeroOutOp::ZeroOutOp;

  void SetIndex(OpKernelContext* context, Tensor* index) override {
    const int error = LaunchZeroOutWhole(Data(index), sizeof(int32_t), GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }

  void ZeroOut(OpKernelContext* context, const void* input, void* output, int64_t kept,
               int64_t size) override {
    const int error = LaunchZeroOut(input, output, kept, size, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>ZeroOut").Device(DEVICE_GPU), ZeroOutGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ZeroOutWithIndex").Device(DEVICE_GPU), ZeroOutGpuOp);
#endif

}  // namespace
}  // namespace tensorflow_ext
