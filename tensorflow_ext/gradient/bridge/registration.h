// Extends TensorFlow's registration macros in this library:
//
//   - A second copy of the library in the process (linked and loaded, or loaded
//     from two paths) is harmless. TensorFlow aborts on a second gradient and
//     rejects a duplicate kernel, so only the first copy registers.
//   - REGISTER_OP_GRADIENT reaches the client registry too
//     (gradient/client_registry.h).
//
// Include it last, after the TensorFlow headers that define REGISTER_OP, REGISTER_KERNEL_BUILDER or
// REGISTER_OP_GRADIENT, and use those macros as usual. A lowering is registered by
// REGISTER_LOWERING (xla/lowering.h).

#pragma once

#include "tensorflow/core/framework/registration/registration.h"
#include "tensorflow_ext/base/first_copy.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"

// TensorFlow's hook for selective registration of ops and kernels. Its condition is a constant
// expression; ours is known only when the library loads.
#undef TF_INIT_ON_STARTUP_IF
#define TF_INIT_ON_STARTUP_IF(condition)                                                   \
  (!(condition) || !::tensorflow_ext::IsFirstCopy()) ? ::tensorflow::InitOnStartupMarker{} \
                                                     : ::tensorflow::InitOnStartupMarker {}

#undef REGISTER_OP_GRADIENT_UNIQ
#define REGISTER_OP_GRADIENT_UNIQ(counter, name, creator) \
  static bool unused_grad_##counter TF_ATTRIBUTE_UNUSED = \
      ::tensorflow_ext::RegisterGradient(name, creator)
