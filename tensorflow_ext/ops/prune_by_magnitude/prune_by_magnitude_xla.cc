// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/elementwise_xla.h"
#include "tensorflow_ext/kernels/shape_xla.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

// Of both ops: (..., weights, threshold). What is pruned is the first input.
class PruneXlaOp : public tensorflow::XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    const int last = context->num_inputs() - 1;
    if (last == 2) OP_REQUIRES_OK(context, CheckXlaShapes(context));
    tensorflow::TensorShape shape;
    OP_REQUIRES_OK(context, XlaInputShape(context, last, &shape));
    OP_REQUIRES_OK(context, CheckRank(type_string(), "threshold", shape, 0,
                                      "a scalar, []"));
    const xla::XlaOp weights = context->Input(last - 1);
    const xla::XlaOp threshold = context->Input(last);
    const xla::XlaOp first = context->Input(0);
    const xla::XlaOp pruned = xla::Select(xla::Lt(xla::Abs(weights), threshold),
                                          xla::ZerosLike(first), first);
    // NaN cannot be refused here.
    context->SetOutput(0,
                       xla::Select(xla::Ne(threshold, threshold),
                                   xla::FullLike(first, std::nan("")), pruned));
  }
};
REGISTER_XLA_OP(Name("TfExt>PruneByMagnitude"), PruneXlaOp);
REGISTER_XLA_OP(Name("TfExt>PruneByMagnitudeGrad"), PruneXlaOp);

}  // namespace
}  // namespace tensorflow_ext
