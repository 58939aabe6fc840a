#include <cmath>

#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

using xla::XlaOp;

// Both ops, with inputs (..., weights, threshold). The first is pruned.
class PruneLowering : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    const int last = context->num_inputs() - 1;
    tensorflow::TensorShape shape;
    TF_RETURN_IF_ERROR(context->CheckSameShape(last));
    TF_RETURN_IF_ERROR(context->InputBounds(last, &shape));
    TF_RETURN_IF_ERROR(CheckRank(context->op(), "threshold", shape, 0, "a scalar, []"));
    const XlaOp first = context->Input(0);
    const XlaOp weights = context->Input(last - 1);
    const XlaOp threshold = context->Input(last);
    const XlaOp pruned = xla::Select(xla::Abs(weights) < threshold, 0, first);
    // NaN cannot be refused here.
    context->SetOutput(0, xla::Select(threshold != threshold, std::nan(""), pruned));
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>PruneByMagnitude"), PruneLowering);
REGISTER_LOWERING(Name("TfExt>PruneByMagnitudeGrad"), PruneLowering);

}  // namespace
}  // namespace tensorflow_ext
