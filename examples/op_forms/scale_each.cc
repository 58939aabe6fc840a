// A list of tensors, each with its own type: `list(type)`.

#include <vector>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::DataType;
using tensorflow::Tensor;

REGISTER_OP("Forms>ScaleEach")
    .Input("xs: T")
    .Output("ys: T")
    .Attr("T: list({float, double}) >= 1")
    .Attr("factor: float")
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* c) {
      for (int i = 0; i < c->num_inputs(); ++i) c->set_output(i, c->input(i));
      return absl::OkStatus();
    })
    .Doc(R"doc(
factor * x for each x in xs.

xs: Tensors of any shapes, each with its own type.
ys: Tensors of the same shapes and types.
factor: The factor for all tensors.
)doc");

class ScaleEachOp : public tensorflow::OpKernel {
 public:
  explicit ScaleEachOp(tensorflow::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("factor", &factor_));
  }

  void Compute(tensorflow::OpKernelContext* context) override {
    for (int i = 0; i < context->num_inputs(); ++i) {
      const Tensor& x = context->input(i);
      Tensor* y;
      OP_REQUIRES_OK(context, context->allocate_output(i, x.shape(), &y));
      if (x.dtype() == tensorflow::DT_FLOAT) {
        y->flat<float>() = x.flat<float>() * factor_;
      } else {
        y->flat<double>() = x.flat<double>() * double{factor_};
      }
    }
  }

 private:
  float factor_;
};

REGISTER_KERNEL_BUILDER(Name("Forms>ScaleEach").Device(tensorflow::DEVICE_CPU), ScaleEachOp);

// Uses Create, because Define cannot name an output that is a list. The types of the list are
// inserted as they are.
absl::Status ScaleEachGradient(const tensorflow::AttrSlice& attrs, tensorflow::FunctionDef* g) {
  std::vector<DataType> types;
  TF_RETURN_IF_ERROR(GetNodeAttr(attrs, "T", &types));
  // clang-format off
  *g = FDH::Create(
      "ScaleEachGradient",
      // Arg defs
      {"xs: T", "dys: T"},
      // Ret val defs
      {"dxs: T"},
      // Attr defs
      {"T: list({float, double}) >= 1", "factor: float"},
      // Nodes
      {
        {{"scaled"}, "Forms>ScaleEach", {"dys"},
         {{"T", types}, {"factor", "$factor"}}},
      },
      // Ret vals
      {{"dxs", "scaled:ys"}});
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Forms>ScaleEach", ScaleEachGradient);

}  // namespace
