// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_OPS_MULTIPLY_LEFT_MULTIPLY_LEFT_H_
#define TENSORFLOW_EXT_OPS_MULTIPLY_LEFT_MULTIPLY_LEFT_H_

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

#endif  // TENSORFLOW_EXT_OPS_MULTIPLY_LEFT_MULTIPLY_LEFT_H_
