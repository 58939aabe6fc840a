// SPDX-License-Identifier: Apache-2.0
//
// XLA lowerings of elementwise ops: one or two inputs of the same shape,
// computed in the compute type of numeric.h, rounded once.

#ifndef TENSORFLOW_EXT_KERNELS_ELEMENTWISE_XLA_H_
#define TENSORFLOW_EXT_KERNELS_ELEMENTWISE_XLA_H_

#include <string>

#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/kernels/shape_xla.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

namespace tensorflow_ext {

// CheckSameShape of the first `inputs` inputs.
inline absl::Status CheckXlaShapes(tensorflow::XlaOpKernelContext* context,
                                   int inputs = 2) {
  tensorflow::TensorShape first, shape;
  if (absl::Status s = XlaInputShape(context, 0, &first); !s.ok()) return s;
  for (int i = 1; i < inputs; ++i) {
    if (absl::Status s = XlaInputShape(context, i, &shape); !s.ok()) return s;
    const std::string& op = context->op_kernel().type_string();
    if (absl::Status s = CheckSameShape(op, first, shape, i); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// A derived class says the formula in Lower.
class ElementwiseXlaOp : public tensorflow::XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(tensorflow::XlaOpKernelContext* context) final {
    const bool binary = context->num_inputs() == 2;
    if (binary) OP_REQUIRES_OK(context, CheckXlaShapes(context));
    const xla::PrimitiveType stored = context->input_xla_type(0);
    const xla::PrimitiveType computed =
        stored == xla::F16 || stored == xla::BF16 ? xla::F32 : stored;
    const xla::XlaOp first =
        xla::ConvertElementType(context->Input(0), computed);
    const xla::XlaOp last =
        binary ? xla::ConvertElementType(context->Input(1), computed) : first;
    context->SetOutput(0, xla::ConvertElementType(Lower(first, last), stored));
  }

 private:
  // The op's output, in the type of its inputs. An op of one input gets it
  // twice.
  virtual xla::XlaOp Lower(xla::XlaOp first, xla::XlaOp last) const = 0;
};

// The lowering of IdentityOp (identity_op.h).
class IdentityXlaOp : public tensorflow::XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    context->SetOutput(0, context->Input(0));
  }
};

// `value` as a scalar of the type of `like`; it broadcasts.
inline xla::XlaOp Scalar(xla::XlaOp like, double value) {
  return xla::ScalarLike(like, value);
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_ELEMENTWISE_XLA_H_
