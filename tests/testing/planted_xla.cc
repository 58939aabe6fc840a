// Some ops of planted_ops.cc for XLA; one computes something else there.

// Must precede XLA's headers.
// clang-format off
#include "tensorflow_ext/base/compatibility.h"
// clang-format on

#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include TENSORFLOW_EXT_XLA_BUILDER
#include TENSORFLOW_EXT_XLA_CONSTANTS

namespace {

// x (x + error)
template <int thousandths>
class Square : public tensorflow::XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    const xla::XlaOp x = context->Input(0);
    const xla::XlaOp error = xla::ScalarLike(x, thousandths / 1000.0);
    context->SetOutput(0, xla::Mul(x, xla::Add(x, error)));
  }
};

REGISTER_XLA_OP(Name("Planted>OtherInXla"), Square<1>);
REGISTER_XLA_OP(Name("Planted>Right"), Square<0>);

}  // namespace
