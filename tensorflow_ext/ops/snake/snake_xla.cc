// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/snake/snake.h"
#include "tensorflow_ext/xla/functor_lowering.h"

namespace tensorflow_ext {

REGISTER_LOWERING(Name("TfExt>Snake"), BroadcastLowering<Snake>);
REGISTER_LOWERING(Name("TfExt>SnakeGrad"), BroadcastLowering<SnakeGrad>);

}  // namespace tensorflow_ext
