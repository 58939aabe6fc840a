#pragma once

#include "tensorflow_ext/kernels/broadcast.h"

namespace tensorflow_ext {

struct MultiplyLeft {
  static constexpr int kArity = 2;
  static constexpr bool kBroadcasts = true;

  template <typename C>
  TENSORFLOW_EXT_HOST_DEVICE C operator()(C x, C y) const {
    return x * y;
  }
};

}  // namespace tensorflow_ext

#define TENSORFLOW_EXT_MULTIPLY_LEFT(OP) OP("TfExt>MultiplyLeft", MultiplyLeft)
