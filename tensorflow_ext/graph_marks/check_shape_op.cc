#include <string>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/define.h"

namespace tensorflow_ext {

using tensorflow::FunctionDef;
using tensorflow::OpKernel;
using tensorflow::Tensor;
using tensorflow::TensorShape;

REGISTER_OP("TfExt>CheckGradientShape")
    .Input("gradient: T")
    .Input("expected: int64")
    .Output("checked: T")
    .Attr("T: type")
    .Attr("where: string")
    .Attr("made_by: string")
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* c) {
      tensorflow::shape_inference::ShapeHandle expected, checked;
      TF_RETURN_IF_ERROR(c->MakeShapeFromShapeTensor(1, &expected));
      // Inferred shapes may be wrong, so the kernel decides.
      if (!c->Merge(c->input(0), expected, &checked).ok()) {
        checked = c->input(0);
      }
      c->set_output(0, checked);
      return absl::OkStatus();
    })
    .Doc(R"doc(
Checks that a gradient has the shape that it must have.

The debug switch TFEXT_CHECK_GRADIENTS puts it behind gradients whose shape is
not known beforehand.

gradient: Any tensor.
expected: Its shape.
checked: `gradient`.
where: Names the gradient; the error begins with it.
made_by: Describes its origin; the error ends with it.
)doc");

namespace {

absl::Status CheckGradientShapeGradient(const tensorflow::AttrSlice& /*attrs*/, FunctionDef* g) {
  return Define(
      // Arg defs
      {"gradient: T", "expected: int64", "dy: T"},
      // Ret val defs
      {"dgradient: T", "dexpected: int64"},
      // Attr defs
      {"T: type"},
      // Nodes
      {
          {{"dgradient"}, "Identity", {"dy"}},
          {{"dexpected"}, "TfExt>NoGradient", {"expected"}},
      },
      g);
}
REGISTER_OP_GRADIENT("TfExt>CheckGradientShape", CheckGradientShapeGradient);

class CheckGradientShapeOp : public OpKernel {
 public:
  explicit CheckGradientShapeOp(tensorflow::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("where", &where_));
    OP_REQUIRES_OK(context, context->GetAttr("made_by", &made_by_));
  }

  void Compute(tensorflow::OpKernelContext* context) override {
    const Tensor& gradient = context->input(0);
    const Tensor& sizes = context->input(1);
    OP_REQUIRES(
        context, sizes.dims() == 1,
        absl::InvalidArgumentError(absl::StrCat("expected: has shape ", sizes.shape().DebugString(),
                                                ", expected a vector that holds a shape")));
    TensorShape expected;
    OP_REQUIRES_OK(context, TensorShape::BuildTensorShape(sizes.vec<int64_t>(), &expected));
    OP_REQUIRES(context, gradient.shape() == expected,
                absl::InvalidArgumentError(absl::StrCat(
                    where_, " has shape ", gradient.shape().DebugString(),
                    " where the input has shape ", expected.DebugString(), "; ", made_by_)));
    context->set_output(0, gradient);
  }

  bool IsExpensive() override { return false; }

 private:
  std::string where_;
  std::string made_by_;
};
REGISTER_KERNEL_BUILDER(Name("TfExt>CheckGradientShape").Device(tensorflow::DEVICE_CPU),
                        CheckGradientShapeOp);
REGISTER_KERNEL_BUILDER(
    Name("TfExt>CheckGradientShape").Device(tensorflow::DEVICE_GPU).HostMemory("expected"),
    CheckGradientShapeOp);

}  // namespace
}  // namespace tensorflow_ext
