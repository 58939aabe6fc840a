// Another library's op Addons>Mish, with a kernel and with gradients in both registries, as if
// TensorFlow Addons were loaded. The op doubles its input. Its gradients are 3 dy for clients and 5
// dy in the function runtime.

#include "tensorflow/cc/framework/grad_op_registry.h"
#include "tensorflow/cc/ops/standard_ops.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace other {
namespace {

using tensorflow::OpKernel;
using tensorflow::Tensor;
using FDH = tensorflow::FunctionDefHelper;

REGISTER_OP("Addons>Mish")
    .Input("features: float")
    .Output("doubled: float")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape);

class Twice : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    y->flat<float>() = x.flat<float>() * 2.0f;
  }
};
REGISTER_KERNEL_BUILDER(Name("Addons>Mish").Device(tensorflow::DEVICE_CPU), Twice);

absl::Status ClientGradient(const tensorflow::Scope& scope, const tensorflow::Operation& /*op*/,
                            const std::vector<tensorflow::Output>& upstream,
                            std::vector<tensorflow::Output>* gradients) {
  gradients->push_back(tensorflow::ops::Mul(scope, upstream[0], 3.0f));
  return scope.status();
}
REGISTER_GRADIENT_OP("Addons>Mish", ClientGradient);

absl::Status FunctionGradient(const tensorflow::AttrSlice& /*attrs*/,
                              tensorflow::FunctionDef* gradient) {
  // clang-format off
  *gradient = FDH::Define(
      // Arg defs
      {"x: float", "dy: float"},
      // Ret val defs
      {"dx: float"},
      // Attr defs
      {},
      // Nodes
      {
        FDH::Const("five", 5.0f),
        {{"dx"}, "Mul", {"dy", "five"}, {{"T", tensorflow::DT_FLOAT}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Addons>Mish", FunctionGradient);

}  // namespace
}  // namespace other
