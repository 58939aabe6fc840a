// SPDX-License-Identifier: Apache-2.0
//
// The OpKernel of ops that are the identity and exist for their gradient. It passes on the inputs'
// buffers without a copy, so CPU and GPU share it.

#ifndef TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_IDENTITY_OP_H_
#define TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_IDENTITY_OP_H_

#include "tensorflow/core/framework/op_kernel.h"

namespace tensorflow_ext {

// Each output is the input of the same index.
class IdentityOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    for (int i = 0; i < context->num_outputs(); ++i) {
      context->set_output(i, context->input(i));
    }
  }

  // The op is too cheap for its own thread.
  bool IsExpensive() override { return false; }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_IDENTITY_OP_H_
