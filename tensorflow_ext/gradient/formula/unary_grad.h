// Gradients of elementwise ops whose kernels compute half types in float: sums over broadcast axes,
// and the gradient of an op that is itself the gradient of y = f(x).

#pragma once

#include <string>
#include <utility>
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

// Unbroadcast (formula_ops.h) that sums half types in float and rounds to x's type once.
// TensorFlow's sums of half types round at every step. dx and dy may be in either type, or missing.
inline std::pair<Value, Value> UnbroadcastInFloat(Value x, Value dx, Value y, Value dy) {
  const DataType type = x.type(), computed = ComputedIn(x);
  if (dx.exists()) dx = Cast(dx, computed);
  if (dy.exists()) dy = Cast(dy, computed);
  std::pair<Value, Value> sums = Unbroadcast(x, dx, y, dy);
  for (Value* sum : {&sums.first, &sums.second}) {
    if (sum->exists()) *sum = Cast(*sum, type);
  }
  return sums;
}

// The gradient of XGrad(gradients, x) = gradients f'(x), which is linear in `gradients`. By
// `gradients` it is the op itself with its attributes; by x, with the upstream gradient dd, it is
// dd gradients f''(x). `second` writes f''.
inline void ReturnUnaryGradGrad(Gradient& g, Value (*second)(Gradient& g, Value x),
                                const std::vector<std::string>& attributes = {}) {
  const Value gradients = g.Input(0), x = g.Input(1), dd = g.Upstream();
  const DataType computed = ComputedIn(x);
  const Value by_x = Cast(dd, computed) * Cast(gradients, computed) * second(g, Cast(x, computed));
  g.Return({g.Call(g.op(), {dd, x}, g.AttrsOfOp(attributes)), Cast(by_x, x.type())});
}

}  // namespace tensorflow_ext
