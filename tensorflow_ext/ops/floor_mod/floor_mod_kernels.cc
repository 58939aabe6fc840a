#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/broadcast_op.h"
#include "tensorflow_ext/ops/floor_mod/floor_mod.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

// Refuses integer division by 0, because integers have no NaN.
class FloorModCpuOp final : public BroadcastCpuOp<FloorMod> {
 public:
  using BroadcastCpuOp<FloorMod>::BroadcastCpuOp;

 private:
  absl::Status CheckValues(tensorflow::OpKernelContext* context) override {
    const tensorflow::Tensor& y = context->input(1);
    const int64_t zero = FindZeroCpu(type(), Data(y), y.NumElements());
    if (zero < 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(type_string(), ": argument 'y' is 0 at flat index ", zero, " of shape ",
                     y.shape().DebugString(), ", expected integer divisors other than 0"));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>FloorMod").Device(DEVICE_CPU), FloorModCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>FloorModGrad").Device(DEVICE_CPU),
                        BroadcastCpuOp<FloorModGrad>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>FloorMod").Device(DEVICE_GPU), BroadcastGpuOp<FloorMod>);
REGISTER_KERNEL_BUILDER(Name("TfExt>FloorModGrad").Device(DEVICE_GPU),
                        BroadcastGpuOp<FloorModGrad>);
#endif

}  // namespace tensorflow_ext
