// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/floor_mod/floor_mod.h"
#include "tensorflow_ext/xla/functor_lowering.h"

namespace tensorflow_ext {

REGISTER_LOWERING(Name("TfExt>FloorMod"), BroadcastLowering<FloorMod>);
REGISTER_LOWERING(Name("TfExt>FloorModGrad"), BroadcastLowering<FloorModGrad>);

}  // namespace tensorflow_ext
