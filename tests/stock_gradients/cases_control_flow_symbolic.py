# SPDX-License-Identifier: Apache-2.0
"""SymbolicGradient, the gradient of a function or an op by its name."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal
from rows import call, ints, numeric

v1 = tf.compat.v1


def _function(body: Callable[..., Any], inputs: Sequence[np.ndarray]) -> Any:
    """The name of a function that the graph gets."""
    specs = [tf.TensorSpec(None, x.dtype) for x in inputs]
    concrete = tf.function(body, input_signature=specs).get_concrete_function()
    concrete.add_to_graph(v1.get_default_graph())
    return v1.NameAttrList(name=concrete.function_def.signature.name)


def _op(op: str, _: Any, **attributes: Any) -> Any:
    f = v1.NameAttrList(name=op)
    for key, value in attributes.items():
        if isinstance(value, bool):
            f.attr[key].b = value
        elif isinstance(value, int):
            f.attr[key].i = value
        else:
            f.attr[key].type = value.as_datatype_enum
    return f


def gradient(
    name: str, of: Any, inputs: Sequence[np.ndarray], *upstream: np.ndarray, **more: Any
) -> Case:
    """The gradient of a function, or of an op with attributes, at `inputs`."""

    def build(xs: Any, *upstream: Any, **attributes: Any) -> Any:
        f = (_op if isinstance(of, str) else _function)(of, inputs, **attributes)
        types = [x.dtype for x in inputs]
        return call("SymbolicGradient", [*xs, *upstream], Tout=types, f=f)

    return numeric("SymbolicGradient", name, list(inputs), *upstream, build=build, **more)


def product_of_sines(x: Any, y: Any) -> Any:
    return tf.sin(x) * y * y


def two_results(x: Any, y: Any) -> Any:
    return x * y, tf.exp(y)


def calls(x: Any, y: Any) -> Any:
    return tf.function(product_of_sines)(x, y) + tf.function(product_of_sines)(y, x)


def with_rows(x: Any, rows: Any) -> Any:
    return tf.sin(tf.gather_nd(x, rows)), rows


X, Z = normal(3), complex_normal(2)
MATRICES: dict[str, Any] = {
    "T": tf.float64,
    **{"transpose_a": True, "transpose_b": False, "grad_a": False, "grad_b": False},
}
CASES = [
    gradient("formula", product_of_sines, [X, X], X),
    gradient("two_results", two_results, [X, X], X, X),
    gradient("calls", calls, [X, X], X),
    gradient("complex", product_of_sines, [Z, Z], Z),
    gradient("rows", with_rows, [X, ints([2], [0], [2])], X, np.zeros((3, 1), np.int32)),
    gradient("static_shapes", product_of_sines, [X, X], X, known_shapes=True),
    gradient("of_tanh", "Tanh", [X], X, T=tf.float64),
    gradient("of_matrix_product", "MatMul", [normal(2, 3), normal(2, 2)], normal(3, 2), **MATRICES),
    gradient(
        "of_list",
        "ConcatV2",
        [X, X, ints(0)[0]],
        normal(6),
        T=tf.float64,
        N=2,
        Tidx=tf.int32,
        known_shapes="rank",
    ),
]
