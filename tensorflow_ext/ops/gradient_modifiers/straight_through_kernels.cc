// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/identity_op.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

class StraightThroughOp : public IdentityOp {
 public:
  using IdentityOp::IdentityOp;

  void Compute(tensorflow::OpKernelContext* context) override {
    OP_REQUIRES_OK(context,
                   CheckSameShape(type_string(), context->input(0).shape(),
                                  context->input(1).shape()));
    IdentityOp::Compute(context);
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>StraightThrough").Device(DEVICE_CPU),
                        StraightThroughOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>StraightThrough").Device(DEVICE_GPU),
                        StraightThroughOp);

}  // namespace
}  // namespace tensorflow_ext
