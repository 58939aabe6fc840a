// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/elementwise_xla.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

class RoundXlaOp : public ElementwiseXlaOp {
  using ElementwiseXlaOp::ElementwiseXlaOp;

  xla::XlaOp Lower(xla::XlaOp x, xla::XlaOp) const override {
    return xla::RoundNearestEven(x);
  }
};
REGISTER_XLA_OP(Name("TfExt>RoundStraightThrough"), RoundXlaOp);

}  // namespace
}  // namespace tensorflow_ext
