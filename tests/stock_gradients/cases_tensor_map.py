# SPDX-License-Identifier: Apache-2.0
"""Maps of tensors: every case makes a map and ends in values of it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from differences import numeric
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops


def insert(tensor_map: Any, key: Any, value: Any) -> Any:
    return raw.TensorMapInsert(input_handle=tensor_map, key=key, value=value)


def made_of(*values: Any) -> Any:
    """The map from 0, 1, ... to these."""
    tensor_map = raw.EmptyTensorMap()
    for key, value in enumerate(values):
        tensor_map = insert(tensor_map, key, value)
    return tensor_map


def lookup(tensor_map: Any, key: Any, like: Any) -> Any:
    return raw.TensorMapLookup(input_handle=tensor_map, key=key, value_dtype=like.dtype)


def erase(tensor_map: Any, key: Any, like: Any) -> Any:
    return raw.TensorMapErase(input_handle=tensor_map, key=key, value_dtype=like.dtype)


def both(x: Any, y: Any) -> list[Any]:
    tensor_map = made_of(x * x, x * y)
    return [lookup(tensor_map, key, x) for key in (0, 1)]


def twice(x: Any) -> Any:
    tensor_map = made_of(x * x)
    return lookup(tensor_map, 0, x) * lookup(insert(tensor_map, 1, x), 0, x)


def replaced(x: Any, y: Any) -> list[Any]:
    first = made_of(x * x)
    second = insert(first, 0, y * y)
    return [lookup(second, 0, y) * lookup(first, 0, x)]


def other_types(x: Any, y: Any) -> list[Any]:
    tensor_map = made_of(x * x, tf.constant([3, 4]), y * y)
    number = tf.cast(lookup(tensor_map, 1, tf.constant(0)), x.dtype)
    return [lookup(tensor_map, 0, x) * number, lookup(tensor_map, 2, y)]


def number_replaced(x: Any) -> Any:
    tensor_map = insert(made_of(x * x), 0, tf.constant(3))
    return x * tf.cast(lookup(tensor_map, 0, tf.constant(0)), x.dtype)


def erased(x: Any, y: Any) -> list[Any]:
    tensor_map = made_of(x * x, y * y)
    rest = erase(tensor_map, 0, x)
    return [lookup(rest, 1, y) * lookup(tensor_map, 0, x)]


def inserted_again(x: Any, y: Any) -> Any:
    tensor_map = insert(erase(made_of(x * x, x), 0, x), 0, x * y)
    return lookup(tensor_map, 0, x) * lookup(tensor_map, 1, x)


def erased_and_added(x: Any, y: Any) -> Any:
    """The sum has the key again, with the gradient of another value."""
    rest = erase(made_of(x * x, x), 0, x)
    total = raw.AddN(inputs=[rest, made_of(x * y)])
    return lookup(total, 0, x) * lookup(total, 1, x)


def text_keys(x: Any, y: Any) -> Any:
    tensor_map = insert(insert(raw.EmptyTensorMap(), "a", x * x), "b", y * x)
    size = raw.TensorMapSize(input_handle=tensor_map)
    has = raw.TensorMapHasKey(input_handle=tensor_map, key="a")
    keys = raw.TensorMapStackKeys(input_handle=tensor_map, key_dtype=tf.string)
    some = tf.where(has, tf.cast(size + tf.size(keys), x.dtype), 0)
    return lookup(tensor_map, "b", x) * lookup(tensor_map, "a", x) * some


def fractional_keys(x: Any, key: Any) -> Any:
    tensor_map = insert(raw.EmptyTensorMap(), key, x * x)
    return lookup(tensor_map, key, x) + tf.reduce_sum(
        raw.TensorMapStackKeys(input_handle=tensor_map, key_dtype=key.dtype)
    )


def kinds(op: str, name: str, build: Callable[..., Any], count: int) -> list[Case]:
    def inputs(dtype: Any) -> Sequence[np.ndarray]:
        return [normal(2, dtype=dtype, seed=seed) for seed in range(count)]

    return [
        numeric(op, name, build, inputs(np.float64)),
        numeric(op, f"{name}_float", build, inputs(np.float32), **COARSE),
        numeric(op, f"{name}_known_shapes", build, inputs(np.float64), known_shapes=True),
    ]


# Products of squares are not quadratic.
COARSE = {"step": 2**-6, "tolerance": 1e-2}

CASES = [
    *kinds("TensorMapLookup", "both", both, 2),
    *kinds("TensorMapLookup", "twice", twice, 1),
    *kinds("TensorMapInsert", "replaced", replaced, 2),
    *kinds("TensorMapErase", "erased", erased, 2),
    *kinds("TensorMapErase", "inserted_again", inserted_again, 2),
    *kinds("TensorMapErase", "erased_and_added", erased_and_added, 2),
    numeric("TensorMapLookup", "complex", twice, [complex_normal(2)]),
    numeric("TensorMapInsert", "other_shapes", other_types, [normal(2), normal(3, 1)]),
    numeric("TensorMapInsert", "number_replaced", number_replaced, [normal(2)]),
    numeric("TensorMapInsert", "text_keys", text_keys, [normal(2), normal(2, seed=1)]),
    # By the value alone: another key is another place.
    numeric("TensorMapInsert", "fractional_keys", fractional_keys, [normal(2), normal()], wrt=[0]),
    numeric("TensorMapLookup", "empty", both, [normal(0), normal(0)]),
]
