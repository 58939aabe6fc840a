// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/ops/gradient_modifiers/gradient_modifiers.h"
#include "tensorflow_ext/ops/gradient_modifiers/identity_op.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;
using tensorflow::OpKernelConstruction;

// ----- Ops that compute -----

absl::Status ReadAttributes(OpKernelConstruction* context, Scale* functor) {
  return GetFiniteAttr(context, "TfExt>Scale", "factor", &functor->factor);
}

absl::Status ReadAttributes(OpKernelConstruction* context, Clip* functor) {
  return GetRangeAttrs(context, "TfExt>Clip", &functor->min, &functor->max);
}

absl::Status ReadAttributes(OpKernelConstruction* context, ClipGrad* functor) {
  return GetRangeAttrs(context, "TfExt>ClipGrad", &functor->min, &functor->max);
}

// The forward op does not use the attribute of its gradient.
absl::Status ReadAttributes(OpKernelConstruction* context, Sign* /*functor*/) {
  float clip;
  return GetPositiveAttr(context, "TfExt>SignStraightThrough", "clip", &clip);
}

absl::Status ReadAttributes(OpKernelConstruction* context, SignStraightThroughGrad* functor) {
  return GetPositiveAttr(context, "TfExt>SignStraightThroughGrad", "clip", &functor->clip);
}

TENSORFLOW_EXT_GRADIENT_MODIFIERS(REGISTER_ELEMENTWISE)

// ----- Ops that are the identity -----

#define REGISTER_IDENTITY(op, Kernel)                           \
  REGISTER_KERNEL_BUILDER(Name(op).Device(DEVICE_CPU), Kernel); \
  REGISTER_KERNEL_BUILDER(Name(op).Device(DEVICE_GPU), Kernel)

namespace {

class ScaledGradientOp : public IdentityOp {
 public:
  explicit ScaledGradientOp(OpKernelConstruction* context) : IdentityOp(context) {
    float scale;
    OP_REQUIRES_OK(context, GetFiniteAttr(context, type_string().c_str(), "scale", &scale));
  }
};
REGISTER_IDENTITY("TfExt>ReverseGradient", ScaledGradientOp);
REGISTER_IDENTITY("TfExt>ReverseGradientN", ScaledGradientOp);
REGISTER_IDENTITY("TfExt>ScaleGradient", ScaledGradientOp);

class ClipGradientOp : public IdentityOp {
 public:
  explicit ClipGradientOp(OpKernelConstruction* context) : IdentityOp(context) {
    float min, max;
    OP_REQUIRES_OK(context, GetRangeAttrs(context, "TfExt>ClipGradient", &min, &max));
  }
};
REGISTER_IDENTITY("TfExt>ClipGradient", ClipGradientOp);

class StraightThroughOp : public IdentityOp {
 public:
  using IdentityOp::IdentityOp;

  void Compute(tensorflow::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckSameShape(type_string(), context->input(0).shape(),
                                           context->input(1).shape()));
    IdentityOp::Compute(context);
  }
};
REGISTER_IDENTITY("TfExt>StraightThrough", StraightThroughOp);

}  // namespace
}  // namespace tensorflow_ext
