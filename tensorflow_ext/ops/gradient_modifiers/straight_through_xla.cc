// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/elementwise_xla.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

class StraightThroughXlaOp : public IdentityXlaOp {
 public:
  using IdentityXlaOp::IdentityXlaOp;

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckXlaShapes(context));
    IdentityXlaOp::Compile(context);
  }
};
REGISTER_XLA_OP(Name("TfExt>StraightThrough"), StraightThroughXlaOp);

}  // namespace
}  // namespace tensorflow_ext
