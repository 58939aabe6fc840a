// Helpers for the gradients of image ops.

#pragma once

#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

// Height and width of images [batch, height, width, channels].
inline Value ImageSize(Value images) { return SliceVector(Shape(images), 1, 3); }

}  // namespace tensorflow_ext
