#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/define.h"

namespace tensorflow_ext {

REGISTER_OP("TfExt>WithUpstream")
    .Input("y: T")
    .Input("upstream: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}")
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* c) {
      tensorflow::shape_inference::ShapeHandle shape;
      const absl::Status same = c->Merge(c->input(0), c->input(1), &shape);
      if (!same.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("TfExt>WithUpstream: upstream has shape ", c->DebugString(c->input(1)),
                         "; expected the shape of y, ", c->DebugString(c->input(0))));
      }
      c->set_output(0, shape);
      return absl::OkStatus();
    })
    .Doc(R"doc(
Returns `y`, whose gradient is `upstream`, whatever follows.

For languages that add gradients without upstream gradients: the gradients of
the sum of `output` are those of `y` for this upstream gradient. No gradient
goes into `upstream` through this op, so `upstream` may depend on what `y`
depends on.

y: Any tensor of numbers that have a gradient.
upstream: The upstream gradient of `y`, of its shape.
output: `y`.
)doc");

namespace {

absl::Status WithUpstreamGradient(const tensorflow::AttrSlice& /*attrs*/,
                                  tensorflow::FunctionDef* g) {
  return Define(
      // Arg defs
      {"y: T", "upstream: T", "doutput: T"},
      // Ret val defs
      {"dy: T", "dupstream: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double, complex64, complex128}"},
      // Nodes
      {
          {{"dy"}, "Identity", {"upstream"}},
          {{"dupstream"}, "TfExt>NoGradient", {"upstream"}},
      },
      g);
}
REGISTER_OP_GRADIENT("TfExt>WithUpstream", WithUpstreamGradient);

class WithUpstreamOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    const tensorflow::TensorShape& y = context->input(0).shape();
    const tensorflow::TensorShape& upstream = context->input(1).shape();
    OP_REQUIRES(context, y == upstream,
                absl::InvalidArgumentError(
                    absl::StrCat("TfExt>WithUpstream: upstream has shape ", upstream.DebugString(),
                                 "; expected the shape of y, ", y.DebugString())));
    context->set_output(0, context->input(0));
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>WithUpstream").Device(tensorflow::DEVICE_CPU), WithUpstreamOp);
// It forwards its input, so it needs no code for the GPU.
REGISTER_KERNEL_BUILDER(Name("TfExt>WithUpstream").Device(tensorflow::DEVICE_GPU), WithUpstreamOp);

}  // namespace
}  // namespace tensorflow_ext
