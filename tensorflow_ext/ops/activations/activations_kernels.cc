// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/ops/activations/activations.h"

namespace tensorflow_ext {

using tensorflow::OpKernelConstruction;

template <typename Approximate, typename Exact>
absl::Status ReadAttributes(OpKernelConstruction* context, Choice<Approximate, Exact>* functor) {
  return context->GetAttr("approximate", &functor->is_first);
}

// The bounds of the shrinkage functions.
template <typename Functor>
absl::Status ReadBounds(OpKernelConstruction* context, Functor* functor) {
  return GetRangeAttrs(context, context->def().op().c_str(), &functor->lower, &functor->upper,
                       "lower", "upper");
}
absl::Status ReadAttributes(OpKernelConstruction* context, Hardshrink* f) {
  return ReadBounds(context, f);
}
absl::Status ReadAttributes(OpKernelConstruction* context, Softshrink* f) {
  return ReadBounds(context, f);
}
absl::Status ReadAttributes(OpKernelConstruction* context, ShrinkGrad* f) {
  return ReadBounds(context, f);
}

TENSORFLOW_EXT_ACTIVATIONS(REGISTER_ELEMENTWISE)

// SoftshrinkGrad uses the loops of HardshrinkGrad, which the table has.
REGISTER_ELEMENTWISE("TfExt>SoftshrinkGrad", ShrinkGrad)

}  // namespace tensorflow_ext
