// Maps from tensors to tensors, held in a variant. The gradient of a map is a map from the same
// keys to the gradients of their values; a missing key counts as zeros. A key only selects a value
// and has no gradient.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

Value EmptyMap(Gradient& g) { return g.Call("EmptyTensorMap", {}); }

Value Insert(Value map, Value key, Value value) {
  return Call("TensorMapInsert", {map, key, value});
}

// `map` without `key`, which it may not hold: inserts a value, then erases it.
Value Without(Value map, Value key) {
  const Value any = map.gradient()->Scalar(0, DT_FLOAT);
  return Call("TensorMapErase", {Insert(map, key, any), key}, {{"value_dtype", DT_FLOAT}});
}

// The value of `key`, or zeros like `like` if `map` does not hold it. The sum of two maps has the
// keys of both.
Value LookupOrZeros(Value map, Value key, Value like) {
  Gradient& g = *map.gradient();
  const Value zeros = Insert(EmptyMap(g), key, ZerosLike(like));
  return Call("TensorMapLookup", {AddN({map, zeros}), key}, {{"value_dtype", like.type()}});
}

void LookupGrad(Gradient& g) {
  const Value key = g.Input(1), dy = g.Upstream();
  if (!IsDifferentiable(dy)) return ReturnNone(g);
  g.Return({Insert(EmptyMap(g), key, dy), Value()});
}
REGISTER_GRADIENT("TensorMapLookup", LookupGrad);

void InsertGrad(Gradient& g) {
  const Value key = g.Input(1), value = g.Input(2), d_map = g.Upstream();
  g.Return({Without(d_map, key), Value(),
            IsDifferentiable(value) ? LookupOrZeros(d_map, key, value) : Value()});
}
REGISTER_GRADIENT("TensorMapInsert", InsertGrad);

// Python's gradient leaves the key in the gradient's map. A sum with another map then has the key
// again, and its gradient is not that of the erased value.
void EraseGrad(Gradient& g) { g.Return({Without(g.Upstream(), g.Input(1)), Value()}); }
REGISTER_GRADIENT("TensorMapErase", EraseGrad);

// Only keys, and their number.
REGISTER_GRADIENT("EmptyTensorMap", ReturnNone);
REGISTER_GRADIENT("TensorMapHasKey", ReturnNone);
REGISTER_GRADIENT("TensorMapSize", ReturnNone);
REGISTER_GRADIENT("TensorMapStackKeys", ReturnNone);

}  // namespace
}  // namespace tensorflow_ext
