#include <cmath>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/kernels/typed_op.h"
#include "tensorflow_ext/ops/prune_by_magnitude/prune_by_magnitude.h"

namespace tensorflow_ext {
namespace {

// The kernel of both ops. It is elementwise in all inputs except the last one, the threshold, which
// is in host memory on every device.
template <typename Functor>
class PruneOp : public TypedOp {
 public:
  using TypedOp::TypedOp;

  void Compute(OpKernelContext* context) override {
    constexpr int kArity = Functor::kArity;
    const Tensor& first = context->input(0);
    const Tensor& last = context->input(kArity - 1);
    OP_REQUIRES_OK(context, CheckSameShape(type_string(), first.shape(), last.shape()));
    Functor functor;
    OP_REQUIRES_OK(context, ReadThreshold(context->input(kArity), &functor.threshold));
    const void* inputs[] = {Data(first), Data(last)};
    Tensor* output = nullptr;
    static constexpr int kCandidates[] = {0, 1};
    OP_REQUIRES_OK(
        context, context->forward_input_or_allocate_output(absl::MakeConstSpan(kCandidates, kArity),
                                                           0, first.shape(), &output));
    if (output->NumElements() == 0) return;
    Launch(context, functor, inputs, output);
  }

 protected:
  virtual void Launch(OpKernelContext* context, const Functor& functor, const void* const* inputs,
                      Tensor* output) = 0;

 private:
  absl::Status ReadThreshold(const Tensor& tensor, double* threshold) const {
    TF_RETURN_IF_ERROR(CheckRank(type_string(), "threshold", tensor.shape(), 0, kScalar));
    *threshold = HostScalar(tensor);
    if (!std::isnan(*threshold)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(type_string(), ": argument 'threshold' is nan, expected a magnitude"));
  }
};

template <typename Functor>
class PruneCpuOp final : public PruneOp<Functor> {
  using PruneOp<Functor>::PruneOp;

  void Launch(OpKernelContext* context, const Functor& functor, const void* const* inputs,
              Tensor* output) override {
    // The cost is in cycles per element: the time to move its bytes.
    Parallel(context, output->NumElements(), Functor::kArity + 1, [&](int64_t begin, int64_t end) {
      CpuElementwise<Functor>::Run(functor, this->type_, inputs, Data(output), begin, end);
    });
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>PruneByMagnitude").Device(DEVICE_CPU),
                        PruneCpuOp<PruneByMagnitude>);
REGISTER_KERNEL_BUILDER(Name("TfExt>PruneByMagnitudeGrad").Device(DEVICE_CPU),
                        PruneCpuOp<PruneByMagnitudeGrad>);

#if TENSORFLOW_EXT_CUDA
template <typename Functor>
class PruneGpuOp final : public PruneOp<Functor> {
  using PruneOp<Functor>::PruneOp;

  void Launch(OpKernelContext* context, const Functor& functor, const void* const* inputs,
              Tensor* output) override {
    const int error = GpuElementwise<Functor>::Launch(functor, this->type_, inputs, Data(output),
                                                      output->NumElements(), GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>PruneByMagnitude").Device(DEVICE_GPU).HostMemory("threshold"),
                        PruneGpuOp<PruneByMagnitude>);
REGISTER_KERNEL_BUILDER(
    Name("TfExt>PruneByMagnitudeGrad").Device(DEVICE_GPU).HostMemory("threshold"),
    PruneGpuOp<PruneByMagnitudeGrad>);
#endif

}  // namespace
}  // namespace tensorflow_ext
