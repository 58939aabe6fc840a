// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/multiply_left/multiply_left.h"
#include "tensorflow_ext/xla/functor_lowering.h"

namespace tensorflow_ext {

REGISTER_LOWERING(Name("TfExt>MultiplyLeft"), BroadcastLowering<MultiplyLeft>);

}  // namespace tensorflow_ext
