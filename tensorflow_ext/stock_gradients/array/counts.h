// SPDX-License-Identifier: Apache-2.0
//
// Gradients that are shared among as many elements as there are.

#ifndef TENSORFLOW_EXT_STOCK_GRADIENTS_ARRAY_COUNTS_H_
#define TENSORFLOW_EXT_STOCK_GRADIENTS_ARRAY_COUNTS_H_

#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

// The type in which elements of `type` are counted: half counts to 2,048 and
// bfloat16 to 256, and adding one to these does not change them.
inline DataType CountType(DataType type) {
  return type == DT_HALF || type == DT_BFLOAT16 ? DT_FLOAT : type;
}

// x / count, where `count` is of CountType: half ends at 65,504.
inline Value OverCount(Value x, Value count) {
  return Cast(Cast(x, count.type()) / count, x.type());
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_STOCK_GRADIENTS_ARRAY_COUNTS_H_
