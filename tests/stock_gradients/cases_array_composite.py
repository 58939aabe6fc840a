"""Several tensors in one: optionals, and the variants of composite tensors."""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal, single
from rows import call, case, each, ints, numeric
from tensorflow.python.ops import composite_tensor_ops

# ---- Optional


def optional(*components: Any) -> Any:
    return call("OptionalFromValue", list(components))


def taken(value: Any, *likes: Any) -> Any:
    """The components, with the types of `likes`."""
    types = [getattr(like, "dtype", like) for like in likes]
    return call("OptionalGetValue", value, output_types=types, output_shapes=[None] * len(likes))


def in_and_out(x: Any) -> Any:
    (y,) = taken(optional(x * x), x)
    return y * y


def one_unused(x: Any, y: Any) -> Any:
    return taken(optional(x * y, tf.exp(y)), x, y)[1]


def with_integers(x: Any, i: Any) -> Any:
    y, rows = taken(optional(x * x, i), x, i)
    return tf.gather(y, rows) * x[0]


def taken_twice(x: Any, y: Any) -> Any:
    """The gradients of the two are summed, as optionals."""
    value = optional(x * y, y)
    first, second = taken(value, x, y)
    third, _ = taken(value, x, y)
    return [first * second, tf.sin(third)]


def one_in_another(x: Any) -> Any:
    (inner,) = taken(optional(optional(x * x)), tf.variant)
    return taken(inner, x)[0]


X, Y = normal(3), normal(3, seed=1)


def optionals(op: str) -> list[Case]:
    # Python's gradient fails if a component has none.
    fails = functools.partial(numeric, op)
    return [
        case(op, "one", X, build=in_and_out),
        case(op, "complex", complex_normal(3), build=in_and_out),
        case(op, "float", single(2, 3), build=in_and_out),
        fails("one_unused", X, Y, build=one_unused),
        fails("with_integers", X, ints(2, 0, 2), build=with_integers),
        fails("twice", X, Y, build=taken_twice),
        fails("one_in_another", X, build=one_in_another),
    ]


# ---- Composite tensors


def ragged(values: Any, *splits: int) -> Any:
    rows = np.array(splits, np.int64)
    return tf.RaggedTensor.from_row_splits(values, rows, validate=False)


def through_variant(value: Any) -> Any:
    """Converts a composite tensor to a variant and back."""
    variant = composite_tensor_ops.composite_tensor_to_variants(value)
    return composite_tensor_ops.composite_tensor_from_variant(variant, value._type_spec)


def ragged_values(x: Any) -> Any:
    return through_variant(ragged(x * x, 0, 2, 3)).values ** 2


def ragged_of_ragged(x: Any) -> Any:
    return tf.sin(through_variant(ragged(ragged(x * x, 0, 2, 3), 0, 1, 2)).flat_values)


def sparse_values(x: Any) -> Any:
    sparse = tf.SparseTensor([[0, 1], [1, 0], [2, 2]], tf.exp(x), [3, 3])
    return through_variant(sparse).values * x


def composites(op: str) -> list[Case]:
    return [
        case(op, "ragged", X, build=ragged_values),
        case(op, "ragged_float", single(3, 2), build=ragged_values),
        case(op, "ragged_of_ragged", X, build=ragged_of_ragged),
        case(op, "sparse", X, build=sparse_values),
        case(op, "sparse_complex", complex_normal(3), build=sparse_values),
    ]


CASES = [
    *each("OptionalFromValue OptionalGetValue", optionals),
    *each("CompositeTensorVariantFromComponents CompositeTensorVariantToComponents", composites),
]
