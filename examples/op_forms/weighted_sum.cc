// N tensors of one type: `N * T`. The gradient is a list, too.

#include <vector>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

REGISTER_OP("Forms>WeightedSum")
    .Input("xs: N * T")
    .Output("y: T")
    .Attr("N: int >= 1")
    .Attr("T: {float, double}")
    .Attr("weights: list(float)")
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle shape = c->input(0);
      for (int i = 1; i < c->num_inputs(); ++i) {
        TF_RETURN_IF_ERROR(c->Merge(shape, c->input(i), &shape));
      }
      c->set_output(0, shape);
      return absl::OkStatus();
    })
    .Doc(R"doc(
The sum of weights[i] * xs[i].

xs: Tensors of one shape.
y: Tensor of that shape.
weights: A number for each of xs.
)doc");

REGISTER_OP("Forms>Spread")
    .Input("y: T")
    .Output("xs: N * T")
    .Attr("N: int >= 1")
    .Attr("T: {float, double}")
    .Attr("weights: list(float)")
    .SetShapeFn([](InferenceContext* c) {
      for (int i = 0; i < c->num_outputs(); ++i) c->set_output(i, c->input(0));
      return absl::OkStatus();
    })
    .Doc(R"doc(
xs[i] = weights[i] * y: the gradient of WeightedSum.

y: Tensor of any shape.
xs: Tensors of the same shape.
weights: A number for each of xs.
)doc");

class WeightedOp : public tensorflow::OpKernel {
 public:
  explicit WeightedOp(OpKernelConstruction* context) : OpKernel(context) {
    int n;
    OP_REQUIRES_OK(context, context->GetAttr("N", &n));
    OP_REQUIRES_OK(context, context->GetAttr("weights", &weights_));
    OP_REQUIRES(context, static_cast<int>(weights_.size()) == n,
                absl::InvalidArgumentError(absl::StrCat(type_string(), ": ", weights_.size(),
                                                        " weights for ", n,
                                                        " tensors; expected one for each")));
  }

 protected:
  std::vector<float> weights_;
};

template <typename T>
class WeightedSumOp : public WeightedOp {
 public:
  using WeightedOp::WeightedOp;

  void Compute(OpKernelContext* context) override {
    const Tensor& first = context->input(0);
    Tensor* y;
    OP_REQUIRES_OK(context, context->allocate_output(0, first.shape(), &y));
    auto sum = y->flat<T>();
    sum.setZero();
    for (int i = 0; i < context->num_inputs(); ++i) {
      const Tensor& x = context->input(i);
      OP_REQUIRES(context, x.shape() == first.shape(),
                  absl::InvalidArgumentError(absl::StrCat(
                      "Forms>WeightedSum: xs[", i, "] has shape ", x.shape().DebugString(),
                      "; expected that of xs[0], ", first.shape().DebugString())));
      sum += x.flat<T>() * T(weights_[i]);
    }
  }
};

template <typename T>
class SpreadOp : public WeightedOp {
 public:
  using WeightedOp::WeightedOp;

  void Compute(OpKernelContext* context) override {
    const Tensor& y = context->input(0);
    for (int i = 0; i < context->num_outputs(); ++i) {
      Tensor* x;
      OP_REQUIRES_OK(context, context->allocate_output(i, y.shape(), &x));
      x->flat<T>() = y.flat<T>() * T(weights_[i]);
    }
  }
};

#define REGISTER(T)                                                                    \
  REGISTER_KERNEL_BUILDER(                                                             \
      Name("Forms>WeightedSum").Device(tensorflow::DEVICE_CPU).TypeConstraint<T>("T"), \
      WeightedSumOp<T>);                                                               \
  REGISTER_KERNEL_BUILDER(                                                             \
      Name("Forms>Spread").Device(tensorflow::DEVICE_CPU).TypeConstraint<T>("T"), SpreadOp<T>)
REGISTER(float);
REGISTER(double);

// Each is the other's gradient.
absl::Status WeightedSumGradient(const AttrSlice& attrs, FunctionDef* g) {
  int n;
  TF_RETURN_IF_ERROR(GetNodeAttr(attrs, "N", &n));
  // clang-format off
  *g = FDH::Create(
      "WeightedSumGradient",
      // Arg defs
      {"xs: N * T", "dy: T"},
      // Ret val defs
      {"dxs: N * T"},
      // Attr defs
      {"N: int >= 1", "T: {float, double}", "weights: list(float)"},
      // Nodes
      {
        {{"spread"}, "Forms>Spread", {"dy"},
         {{"N", n}, {"T", "$T"}, {"weights", "$weights"}}},
      },
      // Ret vals
      {{"dxs", "spread:xs"}});
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Forms>WeightedSum", WeightedSumGradient);

absl::Status SpreadGradient(const AttrSlice& attrs, FunctionDef* g) {
  int n;
  TF_RETURN_IF_ERROR(GetNodeAttr(attrs, "N", &n));
  // clang-format off
  *g = FDH::Create(
      "SpreadGradient",
      // Arg defs
      {"y: T", "dxs: N * T"},
      // Ret val defs
      {"dy: T"},
      // Attr defs
      {"N: int >= 1", "T: {float, double}", "weights: list(float)"},
      // Nodes
      {
        {{"sum"}, "Forms>WeightedSum", {"dxs"},
         {{"N", n}, {"T", "$T"}, {"weights", "$weights"}}},
      },
      // Ret vals
      {{"dy", "sum:y:0"}});
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Forms>Spread", SpreadGradient);

}  // namespace
