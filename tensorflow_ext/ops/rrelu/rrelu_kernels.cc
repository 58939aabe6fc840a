#include <algorithm>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/kernels/typed_op.h"
#include "tensorflow_ext/ops/rrelu/rrelu.h"
#include "tensorflow_ext/ops/rrelu/rrelu_checks.h"

namespace tensorflow_ext {
namespace {

// Rrelu has inputs (x, seed), RreluGrad (gradients, x, seed). The seed is in host memory on every
// device; each of its rows has one row of the elements.
class RreluOp : public TypedOp {
 public:
  explicit RreluOp(OpKernelConstruction* context) : TypedOp(context) {
    OP_REQUIRES_OK(context, GetSlopeBounds(context, type_string().c_str(), &lower_, &upper_));
  }

  void Compute(OpKernelContext* context) override {
    const int last = num_inputs() - 2;
    const Tensor& values = context->input(0);
    const Tensor& x = context->input(last);
    const Tensor& seed = context->input(last + 1);
    OP_REQUIRES_OK(context, CheckSameShape(type_string(), values.shape(), x.shape(), last));
    OP_REQUIRES_OK(context, CheckSeedShape(type_string(), x.shape(), seed.shape()));
    const Rows rows{Data(values), Data(x), &seed};
    Tensor* output = nullptr;
    static constexpr int kCandidates[] = {0, 1};
    OP_REQUIRES_OK(context, context->forward_input_or_allocate_output(
                                absl::MakeConstSpan(kCandidates, last + 1), 0, x.shape(), &output));
    if (output->NumElements() == 0) return;
    const int64_t count = seed.NumElements() / 2;
    Launch(context, rows, Data(output), count, output->NumElements() / count);
  }

 protected:
  struct Rows {
    const void* values;
    const void* x;
    const Tensor* seed;
  };

  // Processes `count` rows of `size` elements.
  virtual void Launch(OpKernelContext* context, const Rows& rows, void* output, int64_t count,
                      int64_t size) = 0;

  // The slopes of row `row`.
  Slopes SlopesOf(const Tensor& seed, int64_t row) const {
    const auto key = [&](auto* numbers) {
      return SlopeKey(numbers[2 * row], numbers[2 * row + 1]);
    };
    return {lower_, upper_,
            seed.dtype() == tensorflow::DT_INT64 ? key(static_cast<const int64_t*>(Data(seed)))
                                                 : key(static_cast<const int32_t*>(Data(seed)))};
  }

  // The address of element `index` of an array of this type.
  template <typename Void>
  Void* At(Void* data, int64_t index) const {
    using Byte = std::conditional_t<std::is_const_v<Void>, const char, char>;
    const int64_t size =
        DispatchFloating(type_, [](auto tag) -> int64_t { return sizeof(TypeOf<decltype(tag)>); });
    return static_cast<Byte*>(data) + index * size;
  }

 private:
  float lower_, upper_;
};

class RreluCpuOp final : public RreluOp {
  using RreluOp::RreluOp;

  void Launch(OpKernelContext* context, const Rows& rows, void* output, int64_t count,
              int64_t size) override {
    // A unit of work is a block, so each part starts with a block.
    const int64_t blocks = (size + kRreluBlock - 1) / kRreluBlock;
    constexpr int kCycles = 2;  // per element of float
    Parallel(context, count * blocks, kCycles * std::min<int64_t>(size, kRreluBlock),
             [&](int64_t begin, int64_t end) {
               while (begin < end) {
                 const int64_t row = begin / blocks, first = begin % blocks;
                 const int64_t last = std::min(blocks, first + (end - begin));
                 RunRrelu(type_, SlopesOf(*rows.seed, row), At(rows.values, row * size),
                          At(rows.x, row * size), At(output, row * size), first * kRreluBlock,
                          std::min(last * kRreluBlock, size));
                 begin += last - first;
               }
             });
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>Rrelu").Device(DEVICE_CPU), RreluCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>RreluGrad").Device(DEVICE_CPU), RreluCpuOp);

#if TENSORFLOW_EXT_CUDA
class RreluGpuOp final : public RreluOp {
  using RreluOp::RreluOp;

  // One launch per row. There is only one row, except in tf.vectorized_map.
  void Launch(OpKernelContext* context, const Rows& rows, void* output, int64_t count,
              int64_t size) override {
    for (int64_t row = 0; row < count; ++row) {
      const int error =
          LaunchRrelu(type_, SlopesOf(*rows.seed, row), At(rows.values, row * size),
                      At(rows.x, row * size), At(output, row * size), size, GpuStream(context));
      OP_REQUIRES_OK(context, LaunchStatus(*this, error));
    }
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>Rrelu").Device(DEVICE_GPU).HostMemory("seed"), RreluGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>RreluGrad").Device(DEVICE_GPU).HostMemory("seed"), RreluGpuOp);
#endif

}  // namespace
}  // namespace tensorflow_ext
