// For ops on each row of a matrix. A tensor's rows are its last dimension.

#pragma once

#include <cstdint>

#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

struct RowDims {
  int64_t rows, size;

  // The divisor of a mean over a row.
  TENSORFLOW_EXT_HOST_DEVICE int64_t divisor() const { return size > 0 ? size : 1; }
};

}  // namespace tensorflow_ext
