// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/functor_xla.h"
#include "tensorflow_ext/ops/activations/mish.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

REGISTER_XLA_OP(Name("TfExt>Mish"), FunctorXlaOp<Mish>);
REGISTER_XLA_OP(Name("TfExt>MishGrad"), FunctorXlaOp<MishGrad>);

}  // namespace
}  // namespace tensorflow_ext
