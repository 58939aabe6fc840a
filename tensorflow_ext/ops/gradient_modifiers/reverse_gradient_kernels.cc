// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/identity_op.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

// Of ReverseGradient and ReverseGradientN.
class ReverseGradientOp : public IdentityOp {
 public:
  explicit ReverseGradientOp(tensorflow::OpKernelConstruction* context)
      : IdentityOp(context) {
    float scale;
    OP_REQUIRES_OK(context, GetFiniteAttr(context, type_string().c_str(),
                                          "scale", &scale));
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>ReverseGradient").Device(DEVICE_CPU),
                        ReverseGradientOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ReverseGradient").Device(DEVICE_GPU),
                        ReverseGradientOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ReverseGradientN").Device(DEVICE_CPU),
                        ReverseGradientOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ReverseGradientN").Device(DEVICE_GPU),
                        ReverseGradientOp);

}  // namespace
}  // namespace tensorflow_ext
