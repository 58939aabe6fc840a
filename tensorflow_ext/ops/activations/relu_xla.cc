// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/elementwise_xla.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

class ReluXlaOp : public ElementwiseXlaOp {
  using ElementwiseXlaOp::ElementwiseXlaOp;

  xla::XlaOp Lower(xla::XlaOp x, xla::XlaOp) const override {
    return xla::Select(xla::Le(x, Scalar(x, 0)), xla::ZerosLike(x), x);
  }
};
REGISTER_XLA_OP(Name("TfExt>Relu"), ReluXlaOp);

class ReluGradXlaOp : public ElementwiseXlaOp {
  using ElementwiseXlaOp::ElementwiseXlaOp;

  xla::XlaOp Lower(xla::XlaOp dy, xla::XlaOp x) const override {
    return xla::Select(xla::Gt(x, Scalar(x, 0)), dy, xla::ZerosLike(dy));
  }
};
REGISTER_XLA_OP(Name("TfExt>ReluGrad"), ReluGradXlaOp);

}  // namespace
}  // namespace tensorflow_ext
