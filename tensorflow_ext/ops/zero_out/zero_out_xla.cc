#include <vector>

#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

using xla::XlaOp;

class ZeroOutLowering : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    tensorflow::TensorShape shape;
    TF_RETURN_IF_ERROR(context->InputShape(0, &shape));
    const XlaOp input = context->Input(0);
    const bool has_first = shape.num_elements() > 0;
    context->SetOutput(0, has_first ? KeepFirst(input, shape.dims()) : input);
    if (context->num_outputs() == 2) {
      context->SetOutput(1, xla::Zeros(context->builder(), xla::S32, {has_first ? 1 : 0}));
    }
    return absl::OkStatus();
  }

  static XlaOp KeepFirst(XlaOp input, int rank) {
    if (rank == 0) return input;
    XlaOp first = input;
    for (int d = 0; d < rank; ++d) first = xla::SliceInDim(first, 0, 1, d);
    const std::vector<XlaOp> start(rank, xla::ConstantR0(input.builder(), xla::S32, 0));
    return xla::DynamicUpdateSlice(xla::ZerosLike(input), first, start);
  }
};
REGISTER_LOWERING(Name("TfExt>ZeroOut"), ZeroOutLowering);
REGISTER_LOWERING(Name("TfExt>ZeroOutWithIndex"), ZeroOutLowering);

}  // namespace
}  // namespace tensorflow_ext
