// SPDX-License-Identifier: Apache-2.0
//
// Helpers for the gradients of image ops.

#ifndef TENSORFLOW_EXT_STOCK_GRADIENTS_IMAGE_IMAGE_H_
#define TENSORFLOW_EXT_STOCK_GRADIENTS_IMAGE_IMAGE_H_

#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

// Height and width of images [batch, height, width, channels].
inline Value ImageSize(Value images) { return SliceVector(Shape(images), 1, 3); }

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_STOCK_GRADIENTS_IMAGE_IMAGE_H_
