// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/functor_xla.h"
#include "tensorflow_ext/ops/activations/shrink.h"
#include "tensorflow_ext/ops/activations/shrink_attributes.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

REGISTER_XLA_OP(Name("TfExt>Tanhshrink"), FunctorXlaOp<Tanhshrink>);
REGISTER_XLA_OP(Name("TfExt>TanhshrinkGrad"), FunctorXlaOp<TanhshrinkGrad>);
REGISTER_XLA_OP(Name("TfExt>Hardshrink"), FunctorXlaOp<Hardshrink>);
REGISTER_XLA_OP(Name("TfExt>HardshrinkGrad"), FunctorXlaOp<ShrinkGrad>);
REGISTER_XLA_OP(Name("TfExt>Softshrink"), FunctorXlaOp<Softshrink>);
REGISTER_XLA_OP(Name("TfExt>SoftshrinkGrad"), FunctorXlaOp<ShrinkGrad>);

}  // namespace
}  // namespace tensorflow_ext
