// SPDX-License-Identifier: Apache-2.0
//
// For ops that work on the rows of a matrix, one by one: those of a tensor are
// its last dimension.

#ifndef TENSORFLOW_EXT_KERNELS_ROWS_H_
#define TENSORFLOW_EXT_KERNELS_ROWS_H_

#include <cstdint>

#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

struct RowDims {
  int64_t rows, size;

  // What a sum over a row is divided by.
  TENSORFLOW_EXT_HOST_DEVICE int64_t divisor() const {
    return size > 0 ? size : 1;
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_ROWS_H_
