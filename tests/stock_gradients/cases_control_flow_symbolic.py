# SPDX-License-Identifier: Apache-2.0
"""SymbolicGradient, the gradient of a function or an op by its name."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops


def of_function(
    name: str,
    function: Callable[..., Any],
    inputs: Sequence[np.ndarray],
    upstream: Sequence[np.ndarray],
    **settings: Any,
) -> Case:
    """The gradient of `function` at `inputs`, with these upstream gradients."""

    def build(*arguments: Any) -> Any:
        specs = [tf.TensorSpec(None, x.dtype) for x in inputs]
        concrete = tf.function(function, input_signature=specs).get_concrete_function()
        concrete.add_to_graph(tf.compat.v1.get_default_graph())
        name = concrete.function_def.signature.name
        return symbolic_gradient(arguments, inputs, tf.compat.v1.NameAttrList(name=name))

    return second_order(name, build, [*inputs, *upstream], **settings)


def of_op(
    name: str,
    op: str,
    attributes: dict[str, Any],
    inputs: Sequence[np.ndarray],
    upstream: Sequence[np.ndarray],
    **settings: Any,
) -> Case:
    def build(*arguments: Any) -> Any:
        f = tf.compat.v1.NameAttrList(name=op)
        for key, value in attributes.items():
            if isinstance(value, bool):
                f.attr[key].b = value
            elif isinstance(value, int):
                f.attr[key].i = value
            else:
                f.attr[key].type = value.as_datatype_enum
        return symbolic_gradient(arguments, inputs, f)

    return second_order(name, build, [*inputs, *upstream], **settings)


def symbolic_gradient(arguments: Sequence[Any], inputs: Sequence[np.ndarray], f: Any) -> Any:
    return raw.SymbolicGradient(input=list(arguments), Tout=[x.dtype for x in inputs], f=f)


def second_order(
    name: str, build: Callable[..., Any], inputs: Sequence[np.ndarray], **settings: Any
) -> Case:
    defaults = {"reference": "numeric", "second_order": "numeric"}
    return Case("SymbolicGradient", name, build, inputs, **{**defaults, **settings})


def product_of_sines(x: Any, y: Any) -> Any:
    return tf.sin(x) * y * y


def two_results(x: Any, y: Any) -> Any:
    return x * y, tf.exp(y)


def calls(x: Any, y: Any) -> Any:
    return tf.function(product_of_sines)(x, y) + tf.function(product_of_sines)(y, x)


def with_rows(x: Any, rows: Any) -> Any:
    return tf.sin(tf.gather_nd(x, rows)), rows


X, Y = normal(3), normal(3)
CASES = [
    of_function("formula", product_of_sines, [X, Y], [normal(3)]),
    of_function("two_results", two_results, [X, Y], [normal(3), normal(3)]),
    of_function("calls", calls, [X, Y], [normal(3)]),
    of_function(
        "complex", product_of_sines, [complex_normal(2), complex_normal(2)], [complex_normal(2)]
    ),
    of_function(
        "rows",
        with_rows,
        [X, np.array([[2], [0], [2]], np.int32)],
        [normal(3), np.zeros((3, 1), np.int32)],
    ),
    of_function("static_shapes", product_of_sines, [X, Y], [normal(3)], known_shapes=True),
    of_op("of_tanh", "Tanh", {"T": tf.float64}, [X], [normal(3)]),
    of_op(
        "of_matrix_product",
        "MatMul",
        {
            "T": tf.float64,
            "transpose_a": True,
            "transpose_b": False,
            "grad_a": False,
            "grad_b": False,
        },
        [normal(2, 3), normal(2, 2)],
        [normal(3, 2)],
    ),
    of_op(
        "of_list",
        "ConcatV2",
        {"T": tf.float64, "N": 2, "Tidx": tf.int32},
        [X, Y, np.array(0, np.int32)],
        [normal(6)],
        known_shapes="rank",
    ),
]
