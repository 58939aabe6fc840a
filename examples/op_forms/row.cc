// Type constraints, and an integer input, which has no gradient.

#include <cstdint>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::Tensor;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

REGISTER_OP("Forms>Row")
    .Input("params: T")
    .Input("index: Tindex")
    .Output("row: T")
    .Attr("T: {half, float, double}")
    .Attr("Tindex: {int32, int64} = DT_INT32")
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle params, index, row;
      TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(0), 1, &params));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 0, &index));
      TF_RETURN_IF_ERROR(c->Subshape(params, 1, &row));
      c->set_output(0, row);
      return absl::OkStatus();
    })
    .Doc(R"doc(
Row `index` of params.

params: Tensor of at least one dimension.
index: Scalar, at least 0 and less than the number of rows.
row: params[index], with one dimension less.
)doc");

template <typename T, typename Index>
class RowOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    const Tensor& params = context->input(0);
    const Tensor& at = context->input(1);
    OP_REQUIRES(context, params.dims() >= 1 && at.dims() == 0,
                absl::InvalidArgumentError(absl::StrCat(
                    "Forms>Row: params has shape ", params.shape().DebugString(), ", index ",
                    at.shape().DebugString(), "; expected rows and a scalar")));
    const int64_t index = at.scalar<Index>()();
    OP_REQUIRES(context, index >= 0 && index < params.dim_size(0),
                absl::InvalidArgumentError(
                    absl::StrCat("Forms>Row: index is ", index, "; expected less than ",
                                 params.dim_size(0), ", the number of rows, and no less than 0")));
    tensorflow::TensorShape shape = params.shape();
    shape.RemoveDim(0);
    Tensor* row;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &row));
    row->flat<T>() = params.flat_outer_dims<T>().template chip<0>(index);
  }
};

#define REGISTER_INDEX(T, Index)                                \
  REGISTER_KERNEL_BUILDER(Name("Forms>Row")                     \
                              .Device(tensorflow::DEVICE_CPU)   \
                              .TypeConstraint<T>("T")           \
                              .TypeConstraint<Index>("Tindex"), \
                          RowOp<T, Index>)
#define REGISTER(T)           \
  REGISTER_INDEX(T, int32_t); \
  REGISTER_INDEX(T, int64_t)
REGISTER(Eigen::half);
REGISTER(float);
REGISTER(double);

// Zeros, except the row, which has dy.
absl::Status RowGradient(const tensorflow::AttrSlice& /*attrs*/, tensorflow::FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"params: T", "index: Tindex", "dy: T"},
      // Ret val defs
      {"dparams: T", "dindex: Tindex"},
      // Attr defs
      {"T: {half, float, double}", "Tindex: {int32, int64}"},
      // Nodes
      {
        FDH::Const("front", 0),
        FDH::Const("first", absl::Span<const int32_t>({0})),
        FDH::Const("second", absl::Span<const int32_t>({1})),
        {{"shape"}, "Shape", {"params"},
         {{"T", "$T"}, {"out_type", tensorflow::DT_INT32}}},
        {{"rows"}, "StridedSlice", {"shape", "first", "second", "second"},
         {{"T", tensorflow::DT_INT32}, {"Index", tensorflow::DT_INT32},
          {"shrink_axis_mask", 1}}},
        {{"indices"}, "ExpandDims", {"index", "front"},
         {{"T", "$Tindex"}, {"Tdim", tensorflow::DT_INT32}}},
        {{"row"}, "ExpandDims", {"dy", "front"},
         {{"T", "$T"}, {"Tdim", tensorflow::DT_INT32}}},
        // Not ScatterNd, which rejects rows without elements.
        {{"dparams"}, "UnsortedSegmentSum", {"row", "indices", "rows"},
         {{"T", "$T"}, {"Tindices", "$Tindex"},
          {"Tnumsegments", tensorflow::DT_INT32}}},
        {{"dindex"}, "TfExt>NoGradient", {"index"}, {{"T", "$Tindex"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Forms>Row", RowGradient);

}  // namespace
