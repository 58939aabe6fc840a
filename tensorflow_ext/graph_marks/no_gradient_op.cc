#include <cstring>

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/register_types.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"
#include "tensorflow_ext/base/compatibility.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "xla/stream_executor/stream.h"

namespace tensorflow_ext {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TTypes;
using tensorflow::Variant;

REGISTER_OP("TfExt>NoGradient")
    .Input("x: T")
    .Output("zeros: T")
    .Attr("T: type")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
Marks an input in a gradient's definition as having no gradient although its
type could have one.

Return it as the gradient of that input. The function runtime has no absent
gradients and gets zeros. Python gets None and C++ NoGradient(), and no node is
added to the client's graph.

x: The input that has no gradient, of any shape and type.
zeros: Zeros of the shape of `x`; for types without a zero (strings, resources,
  some variants) empty values.
)doc");

REGISTER_OP_NO_GRADIENT("TfExt>NoGradient");

namespace {

class NoGradientCpuOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* ctx) override {
    Tensor* zeros = nullptr;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, ctx->input(0).shape(), &zeros));
    // Values of other types are empty after the allocation.
    if (zeros->dtype() == tensorflow::DT_VARIANT) {
      FillWithZeros(ctx, ctx->input(0).flat<Variant>(), zeros->flat<Variant>());
    } else if (tensorflow::DataTypeCanUseMemcpy(zeros->dtype()) && zeros->NumElements() > 0) {
      std::memset(zeros->data(), 0, zeros->TotalBytes());
    }
  }

 private:
  // Tensor lists and the like define their own zeros; other variants stay empty.
  static void FillWithZeros(OpKernelContext* ctx, TTypes<Variant>::ConstFlat x,
                            TTypes<Variant>::Flat zeros) {
    for (int64_t i = 0; i < x.size(); ++i) {
      if (x(i).is_empty()) continue;
      tensorflow::UnaryOpVariant<Eigen::ThreadPoolDevice>(
          ctx, tensorflow::ZEROS_LIKE_VARIANT_UNARY_OP, x(i), &zeros(i))
          .IgnoreError();
    }
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>NoGradient").Device(tensorflow::DEVICE_CPU), NoGradientCpuOp);

class NoGradientGpuOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* ctx) override {
    Tensor* zeros = nullptr;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, ctx->input(0).shape(), &zeros));
    if (zeros->NumElements() == 0) return;
    compatibility::DeviceAddress memory(zeros->data(), zeros->TotalBytes());
    OP_REQUIRES_OK(ctx, ctx->op_device_context()->stream()->MemZero(&memory, zeros->TotalBytes()));
  }
};
#define REGISTER_GPU(T)                                                               \
  REGISTER_KERNEL_BUILDER(                                                            \
      Name("TfExt>NoGradient").Device(tensorflow::DEVICE_GPU).TypeConstraint<T>("T"), \
      NoGradientGpuOp);
using namespace tensorflow;  // NOLINT: TF_CALL_* name types without it
TF_CALL_POD_TYPES(REGISTER_GPU);
#undef REGISTER_GPU

}  // namespace
}  // namespace tensorflow_ext
