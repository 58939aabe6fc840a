// Ops of another library, which knows nothing of tensorflow_ext and has its gradients only in the
// function registry. Together they use every feature of a definition that a Python gradient must
// replay.

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace other {
namespace {

using tensorflow::AttrSlice;
using tensorflow::FunctionDef;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::shape_inference::UnknownShape;
using FDH = tensorflow::FunctionDefHelper;

// total = weight * (sum of values), elementwise; count = N.
REGISTER_OP("Other>WeightedSum")
    .Input("values: N * T")
    .Input("weight: T")
    .Output("total: T")
    .Output("count: int32")
    .Attr("N: int >= 1")
    .Attr("T: {float, double}")
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* c) {
      c->set_output(0, c->input(0));
      c->set_output(1, c->Scalar());
      return absl::OkStatus();
    });

template <typename T>
class WeightedSum : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const int n = context->num_inputs() - 1;
    const Tensor& weight = context->input(n);
    Tensor *total, *count;
    OP_REQUIRES_OK(context, context->allocate_output(0, weight.shape(), &total));
    OP_REQUIRES_OK(context, context->allocate_output(1, {}, &count));
    count->scalar<int32_t>()() = n;
    for (int64_t i = 0; i < weight.NumElements(); ++i) {
      T sum = 0;
      for (int k = 0; k < n; ++k) sum += context->input(k).flat<T>()(i);
      total->flat<T>()(i) = weight.flat<T>()(i) * sum;
    }
  }
};

REGISTER_KERNEL_BUILDER(
    Name("Other>WeightedSum").Device(tensorflow::DEVICE_CPU).TypeConstraint<float>("T"),
    WeightedSum<float>);
REGISTER_KERNEL_BUILDER(
    Name("Other>WeightedSum").Device(tensorflow::DEVICE_CPU).TypeConstraint<double>("T"),
    WeightedSum<double>);

// The weight's gradient needs the forward op's output, `total`. It uses Create instead of Define,
// because outputs are lists.
absl::Status WeightedSumGrad(const AttrSlice& attrs, FunctionDef* gradient) {
  int n;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(attrs, "N", &n));
  const auto flat_shape = FDH::Const("flat_shape", absl::Span<const int32_t>({1, -1}));
  const auto rows = FDH::Const("rows", absl::Span<const int32_t>({n, 1}));
  // clang-format off
  *gradient = FDH::Create(
      "WeightedSumGrad",
      // Arg defs
      {"values: N * T", "weight: T", "dtotal: T", "dcount: int32"},
      // Ret val defs
      {"dvalues: N * T", "dweight: T"},
      // Attr defs
      {"N: int >= 1", "T: {float, double}"},
      // Nodes
      {
        flat_shape,
        rows,
        {{"forward"}, "Other>WeightedSum", {"values", "weight"},
         {{"N", n}, {"T", "$T"}}},
        {{"scaled"}, "Mul", {"weight", "dtotal"}, {{"T", "$T"}}},
        {{"flat"}, "Reshape", {"scaled:z:0", "flat_shape:output:0"},
         {{"T", "$T"}, {"Tshape", tensorflow::DT_INT32}}},
        {{"tiled"}, "Tile", {"flat:output:0", "rows:output:0"},
         {{"T", "$T"}, {"Tmultiples", tensorflow::DT_INT32}}},
        {{"unpacked"}, "Unpack", {"tiled:output:0"},
         {{"T", "$T"}, {"num", n}, {"axis", 0}}},
        {{"shaped"}, "Other>ReshapeEach", {"unpacked:output", "weight"},
         {{"N", n}, {"T", "$T"}}},
        {{"ratio"}, "Div", {"forward:total:0", "weight"}, {{"T", "$T"}}},
        {{"product"}, "Mul", {"ratio:z:0", "dtotal"}, {{"T", "$T"}}},
      },
      {{"dvalues", "shaped:reshaped"}, {"dweight", "product:z:0"}});
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Other>WeightedSum", WeightedSumGrad);

// Gives each element of a list the shape of `like`.
REGISTER_OP("Other>ReshapeEach")
    .Input("values: N * T")
    .Input("like: T")
    .Output("reshaped: N * T")
    .Attr("N: int >= 1")
    .Attr("T: {float, double}")
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* c) {
      for (int i = 0; i < c->num_outputs(); ++i) {
        c->set_output(i, c->input(c->num_inputs() - 1));
      }
      return absl::OkStatus();
    });

class ReshapeEach : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const int n = context->num_outputs();
    for (int i = 0; i < n; ++i) {
      Tensor reshaped;
      OP_REQUIRES(context, reshaped.CopyFrom(context->input(i), context->input(n).shape()),
                  absl::InvalidArgumentError("ReshapeEach: sizes differ"));
      context->set_output(i, reshaped);
    }
  }
};

REGISTER_KERNEL_BUILDER(Name("Other>ReshapeEach").Device(tensorflow::DEVICE_CPU), ReshapeEach);

// The cube, with a constant and a node that must run first.
REGISTER_OP("Other>Cube")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {float, double}")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape);

template <typename T>
class Cube : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor* y;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    y->flat<T>() = x.flat<T>().cube();
  }
};

REGISTER_KERNEL_BUILDER(
    Name("Other>Cube").Device(tensorflow::DEVICE_CPU).TypeConstraint<float>("T"), Cube<float>);
REGISTER_KERNEL_BUILDER(
    Name("Other>Cube").Device(tensorflow::DEVICE_CPU).TypeConstraint<double>("T"), Cube<double>);

absl::Status CubeGrad(const AttrSlice&, FunctionDef* gradient) {
  // clang-format off
  *gradient = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {float, double}"},
      // Nodes
      {
        FDH::Const("three", 3.0f),
        {{"first"}, "NoOp", {}, {}},
        {{"factor"}, "Cast", {"three"},
         {{"SrcT", tensorflow::DT_FLOAT}, {"DstT", "$T"},
          {"Truncate", false}}},
        {{"square"}, "Square", {"x"}, {{"T", "$T"}}, {"first"}},
        {{"slope"}, "Mul", {"factor", "square"}, {{"T", "$T"}}},
        {{"dx"}, "Mul", {"slope", "dy"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Other>Cube", CubeGrad);

// Passes a list of mixed types through; attributes of many kinds.
REGISTER_OP("Other>Mixed")
    .Input("inputs: T")
    .Output("outputs: T")
    .Attr("T: list(type) >= 1")
    .Attr("size: shape = {}")
    .Attr("numbers: list(int) = []")
    .Attr("label: string = ''")
    .SetShapeFn(UnknownShape);

class Mixed : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    for (int i = 0; i < context->num_inputs(); ++i) {
      context->set_output(i, context->input(i));
    }
  }
};

REGISTER_KERNEL_BUILDER(Name("Other>Mixed").Device(tensorflow::DEVICE_CPU), Mixed);

absl::Status MixedGrad(const AttrSlice& attrs, FunctionDef* gradient) {
  std::vector<tensorflow::DataType> types;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(attrs, "T", &types));
  // clang-format off
  *gradient = FDH::Create(
      "MixedGrad",
      // Arg defs
      {"inputs: T", "doutputs: T"},
      // Ret val defs
      {"dinputs: T"},
      // Attr defs
      {"T: list(type) >= 1", "size: shape = {}", "numbers: list(int) = []",
       "label: string = ''"},
      // Nodes
      {
        {{"same"}, "Other>Mixed", {"doutputs"},
         {{"T", types}, {"size", "$size"}, {"numbers", "$numbers"},
          {"label", "$label"}}},
      },
      {{"dinputs", "same:outputs"}});
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Other>Mixed", MixedGrad);

// A wrong definition, which names an op that does not exist. It uses Create, because Define aborts
// the process on it.
REGISTER_OP("Other>Broken").Input("x: float").Output("y: float").SetShapeFn(UnknownShape);

REGISTER_KERNEL_BUILDER(Name("Other>Broken").Device(tensorflow::DEVICE_CPU), Mixed);

absl::Status BrokenGrad(const AttrSlice&, FunctionDef* gradient) {
  *gradient =
      FDH::Create("BrokenGrad", {"x: float", "dy: float"}, {"dx: float"}, {},
                  {{{"missing"}, "Other>Missing", {"dy"}, {}}}, {{"dx", "missing:output:0"}});
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Other>Broken", BrokenGrad);

}  // namespace
}  // namespace other
