"""Maps of tensors: every case makes a map and ends with its values."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal
from rows import call, numeric

insert = functools.partial(call, "TensorMapInsert")


def made_of(*values: Any) -> Any:
    """The map from 0, 1, ... to these."""
    tensor_map = call("EmptyTensorMap")
    for key, value in enumerate(values):
        tensor_map = insert(tensor_map, key, value)
    return tensor_map


def lookup(tensor_map: Any, key: Any, like: Any) -> Any:
    return call("TensorMapLookup", tensor_map, key, value_dtype=like.dtype)


def erase(tensor_map: Any, key: Any, like: Any) -> Any:
    return call("TensorMapErase", tensor_map, key, value_dtype=like.dtype)


def both(x: Any, y: Any) -> list[Any]:
    tensor_map = made_of(x * x, x * y)
    return [lookup(tensor_map, key, x) for key in (0, 1)]


def twice(x: Any) -> Any:
    tensor_map = made_of(x * x)
    return lookup(tensor_map, 0, x) * lookup(insert(tensor_map, 1, x), 0, x)


def replaced(x: Any, y: Any) -> Any:
    first = made_of(x * x)
    second = insert(first, 0, y * y)
    return lookup(second, 0, y) * lookup(first, 0, x)


def other_types(x: Any, y: Any) -> list[Any]:
    tensor_map = made_of(x * x, tf.constant([3, 4]), y * y)
    number = tf.cast(lookup(tensor_map, 1, tf.constant(0)), x.dtype)
    return [lookup(tensor_map, 0, x) * number, lookup(tensor_map, 2, y)]


def number_replaced(x: Any) -> Any:
    tensor_map = insert(made_of(x * x), 0, tf.constant(3))
    return x * tf.cast(lookup(tensor_map, 0, tf.constant(0)), x.dtype)


def erased(x: Any, y: Any) -> Any:
    tensor_map = made_of(x * x, y * y)
    rest = erase(tensor_map, 0, x)
    return lookup(rest, 1, y) * lookup(tensor_map, 0, x)


def inserted_again(x: Any, y: Any) -> Any:
    tensor_map = insert(erase(made_of(x * x, x), 0, x), 0, x * y)
    return lookup(tensor_map, 0, x) * lookup(tensor_map, 1, x)


def erased_and_added(x: Any, y: Any) -> Any:
    """The sum contains the key again, with the gradient of another value."""
    rest = erase(made_of(x * x, x), 0, x)
    total = call("AddN", [rest, made_of(x * y)])
    return lookup(total, 0, x) * lookup(total, 1, x)


def text_keys(x: Any, y: Any) -> Any:
    tensor_map = insert(insert(call("EmptyTensorMap"), "a", x * x), "b", y * x)
    size, has = call("TensorMapSize", tensor_map), call("TensorMapHasKey", tensor_map, "a")
    keys = call("TensorMapStackKeys", tensor_map, key_dtype=tf.string)
    some = tf.where(has, tf.cast(size + tf.size(keys), x.dtype), 0)
    return lookup(tensor_map, "b", x) * lookup(tensor_map, "a", x) * some


def fractional_keys(x: Any, key: Any) -> Any:
    tensor_map = insert(call("EmptyTensorMap"), key, x * x)
    found = lookup(tensor_map, key, x)
    return found + tf.reduce_sum(call("TensorMapStackKeys", tensor_map, key_dtype=key.dtype))


# Products of squares are not quadratic.
COARSE = {"step": 2**-6, "tolerance": 1e-2}
X, Y = normal(2), normal(2, seed=1)


def kinds(op: str, build: Callable[..., Any], *inputs: np.ndarray) -> list[Case]:
    name, row = build.__name__, functools.partial(numeric, op, build=build)
    return [
        row(name, *inputs),
        row(f"{name}_float", *(x.astype(np.float32) for x in inputs), **COARSE),
        row(f"{name}_known_shapes", *inputs, static="all"),
    ]


lookups, inserts = (functools.partial(numeric, f"TensorMap{op}") for op in ("Lookup", "Insert"))
CASES = [
    *kinds("TensorMapLookup", both, X, Y),
    *kinds("TensorMapLookup", twice, X),
    *kinds("TensorMapInsert", replaced, X, Y),
    *kinds("TensorMapErase", erased, X, Y),
    *kinds("TensorMapErase", inserted_again, X, Y),
    *kinds("TensorMapErase", erased_and_added, X, Y),
    lookups("complex", complex_normal(2), build=twice),
    lookups("empty", normal(0), normal(0), build=both),
    inserts("other_shapes", normal(2), normal(3, 1), build=other_types),
    inserts("number_replaced", X, build=number_replaced),
    inserts("text_keys", X, Y, build=text_keys),
    # Only by the value, because another key is another position.
    inserts("fractional_keys", X, normal(), build=fractional_keys, wrt=[0]),
]
