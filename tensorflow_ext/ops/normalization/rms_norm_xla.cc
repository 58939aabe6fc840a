// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/ops/normalization/normalization.h"
#include "tensorflow_ext/ops/normalization/row_normalization_xla.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

REGISTER_XLA_OP(Name("TfExt>RmsNorm"), RowNormalizationXlaOp<RmsNorm>);
REGISTER_XLA_OP(Name("TfExt>RmsNormGrad"), RowNormalizationGradXlaOp<RmsNorm>);

}  // namespace tensorflow_ext
