// A variable as input: a resource; its gradient is that of its value.

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::Tensor;
using tensorflow::Var;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

REGISTER_OP("Forms>ScaleVariable")
    .Input("variable: resource")
    .Input("factor: dtype")
    .Output("y: dtype")
    .Attr("dtype: {float, double}")
    // Otherwise two reads around a change of the variable would be merged.
    .SetIsStateful()
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle factor;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 0, &factor));
      const auto* held = c->input_handle_shapes_and_types(0);
      const bool is_known = held != nullptr && !held->empty();
      c->set_output(0, is_known ? held->front().shape : c->UnknownShape());
      return absl::OkStatus();
    })
    .Doc(R"doc(
factor * the variable's value.

variable: Handle of a variable of type dtype.
factor: Scalar.
y: Tensor of the shape of the variable.
)doc");

template <typename T>
class ScaleVariableOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    tensorflow::core::RefCountPtr<Var> variable;
    OP_REQUIRES_OK(context,
                   LookupResource(context, tensorflow::HandleFromInput(context, 0), &variable));
    // The lock lasts until the value is read, because an assignment may write in place.
    tensorflow::tf_shared_lock lock(*variable->mu());
    const Tensor& value = *variable->tensor();
    const Tensor& factor = context->input(1);
    OP_REQUIRES(
        context, value.dtype() == factor.dtype() && factor.dims() == 0,
        absl::InvalidArgumentError(absl::StrCat(
            "Forms>ScaleVariable: the variable is of type ",
            tensorflow::DataTypeString(value.dtype()), "; factor has shape ",
            factor.shape().DebugString(), " and type ", tensorflow::DataTypeString(factor.dtype()),
            "; expected a scalar of the variable's type")));
    Tensor* y;
    OP_REQUIRES_OK(context, context->allocate_output(0, value.shape(), &y));
    y->flat<T>() = value.flat<T>() * factor.scalar<T>()();
  }
};

REGISTER_KERNEL_BUILDER(
    Name("Forms>ScaleVariable").Device(tensorflow::DEVICE_CPU).TypeConstraint<float>("dtype"),
    ScaleVariableOp<float>);
REGISTER_KERNEL_BUILDER(
    Name("Forms>ScaleVariable").Device(tensorflow::DEVICE_CPU).TypeConstraint<double>("dtype"),
    ScaleVariableOp<double>);

// dvariable = dy * factor; dfactor = sum(dy * value).
absl::Status ScaleVariableGradient(const tensorflow::AttrSlice& /*attrs*/,
                                   tensorflow::FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"variable: resource", "factor: dtype", "dy: dtype"},
      // Ret val defs
      {"dvariable: dtype", "dfactor: dtype"},
      // Attr defs
      {"dtype: {float, double}"},
      // Nodes
      {
        FDH::Const("one_row", absl::Span<const int32_t>({-1})),
        FDH::Const("all", 0),
        {{"value"}, "ReadVariableOp", {"variable"}, {{"dtype", "$dtype"}}},
        {{"products"}, "Mul", {"dy", "value"}, {{"T", "$dtype"}}},
        {{"row"}, "Reshape", {"products", "one_row"},
         {{"T", "$dtype"}, {"Tshape", tensorflow::DT_INT32}}},
        {{"dfactor"}, "Sum", {"row", "all"},
         {{"T", "$dtype"}, {"Tidx", tensorflow::DT_INT32},
          {"keep_dims", false}}},
        {{"dvariable"}, "Mul", {"dy", "factor"}, {{"T", "$dtype"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Forms>ScaleVariable", ScaleVariableGradient);

}  // namespace
