#pragma once

#include <cstdint>

#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

// floor(a / b) for a >= 0 and b >= 1, in 32 bits where both fit. A 64-bit division takes several
// times as long, especially on a GPU.
TENSORFLOW_EXT_HOST_DEVICE int64_t Quotient(int64_t a, int64_t b) {
  return ((a | b) >> 32) == 0 ? static_cast<uint32_t>(a) / static_cast<uint32_t>(b) : a / b;
}

}  // namespace tensorflow_ext
