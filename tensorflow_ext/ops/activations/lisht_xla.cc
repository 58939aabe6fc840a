// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/functor_xla.h"
#include "tensorflow_ext/ops/activations/lisht.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

REGISTER_XLA_OP(Name("TfExt>Lisht"), FunctorXlaOp<Lisht>);
REGISTER_XLA_OP(Name("TfExt>LishtGrad"), FunctorXlaOp<LishtGrad>);

}  // namespace
}  // namespace tensorflow_ext
