# SPDX-License-Identifier: Apache-2.0
"""Several tensors in one: optionals and the variants of composite tensors."""

from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal
from tensorflow.python.ops import composite_tensor_ops

raw = tf.raw_ops

# ---- Optional


def optional(*components: Any) -> Any:
    return raw.OptionalFromValue(components=list(components))


def taken(value: Any, *likes: Any) -> Any:
    """The components, of the types of `likes`."""
    return raw.OptionalGetValue(
        optional=value,
        output_types=[like.dtype for like in likes],
        output_shapes=[None] * len(likes),
    )


def in_and_out(x: Any) -> Any:
    (y,) = taken(optional(x * x), x)
    return y * y


def one_unused(x: Any, y: Any) -> Any:
    return taken(optional(x * y, tf.exp(y)), x, y)[1]


def with_integers(x: Any, i: Any) -> Any:
    y, rows = taken(optional(x * x, i), x, i)
    return tf.gather(y, rows) * x[0]


def taken_twice(x: Any, y: Any) -> Any:
    """The gradients of the two add up, as optionals."""
    value = optional(x * y, y)
    first, second = taken(value, x, y)
    third, _ = taken(value, x, y)
    return [first * second, tf.sin(third)]


def one_in_another(x: Any) -> Any:
    (inner,) = raw.OptionalGetValue(
        optional=optional(optional(x * x)), output_types=[tf.variant], output_shapes=[None]
    )
    return taken(inner, x)[0]


def optionals(op: str) -> list[Case]:
    # Python's gradient fails where a component has none.
    numeric: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
    return [
        Case(op, "one", in_and_out, [X]),
        Case(op, "complex", in_and_out, [complex_normal(3)]),
        Case(op, "float", in_and_out, [normal(2, 3, dtype=np.float32)]),
        Case(op, "one_unused", one_unused, [X, Y], **numeric),
        Case(op, "with_integers", with_integers, [X, INDICES], **numeric),
        Case(op, "twice", taken_twice, [X, Y], **numeric),
        Case(op, "one_in_another", one_in_another, [X], **numeric),
    ]


# ---- Composite tensors


def ragged(values: Any) -> Any:
    return tf.RaggedTensor.from_row_splits(values, SPLITS, validate=False)


def through_variant(value: Any) -> Any:
    """A composite tensor, as a variant and back."""
    variant = composite_tensor_ops.composite_tensor_to_variants(value)
    return composite_tensor_ops.composite_tensor_from_variant(variant, value._type_spec)


def ragged_values(x: Any) -> Any:
    return through_variant(ragged(x * x)).values ** 2


def ragged_of_ragged(x: Any) -> Any:
    outer = tf.RaggedTensor.from_row_splits(
        ragged(x * x), np.array([0, 1, 2], np.int64), validate=False
    )
    return tf.sin(through_variant(outer).flat_values)


def sparse_values(x: Any) -> Any:
    sparse = tf.SparseTensor([[0, 1], [1, 0], [2, 2]], tf.exp(x), [3, 3])
    return through_variant(sparse).values * x


def composites(op: str) -> list[Case]:
    return [
        Case(op, "ragged", ragged_values, [X]),
        Case(op, "ragged_float", ragged_values, [normal(3, 2, dtype=np.float32)]),
        Case(op, "ragged_of_ragged", ragged_of_ragged, [X]),
        Case(op, "sparse", sparse_values, [X]),
        Case(op, "sparse_complex", sparse_values, [complex_normal(3)]),
    ]


X, Y = normal(3), normal(3, seed=1)
INDICES = np.array([2, 0, 2], np.int32)
SPLITS = np.array([0, 2, 3], np.int64)
CASES = [
    *optionals("OptionalFromValue"),
    *optionals("OptionalGetValue"),
    *composites("CompositeTensorVariantFromComponents"),
    *composites("CompositeTensorVariantToComponents"),
]
