// Gradients that are divided by a number of elements.

#pragma once

#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

// The type that counts elements of `type`. half counts to 2,048 and bfloat16 to 256; adding one to
// these does not change them.
inline DataType CountType(DataType type) {
  return type == DT_HALF || type == DT_BFLOAT16 ? DT_FLOAT : type;
}

// x / count, where `count` has CountType, because half ends at 65,504.
inline Value OverCount(Value x, Value count) {
  return Cast(Cast(x, count.type()) / count, x.type());
}

}  // namespace tensorflow_ext
