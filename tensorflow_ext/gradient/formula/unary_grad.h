// SPDX-License-Identifier: Apache-2.0
//
// The gradient of an op that is itself the gradient of an elementwise y = f(x):
// XGrad(gradients, x) = gradients f'(x), which is linear in `gradients`.

#ifndef TENSORFLOW_EXT_GRADIENT_FORMULA_UNARY_GRAD_H_
#define TENSORFLOW_EXT_GRADIENT_FORMULA_UNARY_GRAD_H_

#include <string>
#include <vector>

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

// The type that the kernels compute in: float for the half types.
inline DataType ComputedIn(Value x) {
  const DataType type = x.type();
  const bool is_half = type == DT_HALF || type == DT_BFLOAT16;
  return is_half ? DT_FLOAT : type;
}

// The op itself, with its attributes named, by `gradients`; by x, with the
// upstream gradient dd, dd gradients f''(x). `second` writes f''.
inline void ReturnUnaryGradGrad(
    Gradient& g, Value (*second)(Gradient& g, Value x),
    const std::vector<std::string>& attributes = {}) {
  const Value gradients = g.Input(0), x = g.Input(1), dd = g.Upstream();
  const DataType computed = ComputedIn(x);
  const Value by_x = Cast(dd, computed) * Cast(gradients, computed) *
                     second(g, Cast(x, computed));
  g.Return(
      {g.Call(g.op(), {dd, x}, g.AttrsOfOp(attributes)), Cast(by_x, x.type())});
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FORMULA_UNARY_GRAD_H_
