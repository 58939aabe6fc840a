#pragma once

#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

// x as float if its type is shorter, because some kernels accept only long types.
inline Value Widened(Value x) { return x.type() == DT_DOUBLE ? x : Cast(x, DT_FLOAT); }

}  // namespace tensorflow_ext
