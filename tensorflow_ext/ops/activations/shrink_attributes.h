// SPDX-License-Identifier: Apache-2.0
//
// The bounds of the shrinkage functions, for their shape functions, kernels and
// lowerings.

#ifndef TENSORFLOW_EXT_OPS_ACTIVATIONS_SHRINK_ATTRIBUTES_H_
#define TENSORFLOW_EXT_OPS_ACTIVATIONS_SHRINK_ATTRIBUTES_H_

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/ops/activations/shrink.h"

namespace tensorflow_ext {

// The attributes 'lower' and 'upper' of `op`, lower <= upper.
template <typename Context>
absl::Status GetBounds(Context* context, const char* op, float* lower,
                       float* upper) {
  return GetRangeAttrs(context, op, lower, upper, "lower", "upper");
}

template <typename Functor>
absl::Status ReadBounds(tensorflow::OpKernelConstruction* context,
                        Functor* functor) {
  return GetBounds(context, context->def().op().c_str(), &functor->lower,
                   &functor->upper);
}
inline absl::Status ReadAttributes(tensorflow::OpKernelConstruction* context,
                                   Hardshrink* functor) {
  return ReadBounds(context, functor);
}
inline absl::Status ReadAttributes(tensorflow::OpKernelConstruction* context,
                                   Softshrink* functor) {
  return ReadBounds(context, functor);
}
inline absl::Status ReadAttributes(tensorflow::OpKernelConstruction* context,
                                   ShrinkGrad* functor) {
  return ReadBounds(context, functor);
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_ACTIVATIONS_SHRINK_ATTRIBUTES_H_
