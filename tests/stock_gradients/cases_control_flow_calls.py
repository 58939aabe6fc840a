"""Calls of functions within a branch, alone and nested, and gradients by name.

cases_stock.py has the calls outside branches.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import rows
import tensorflow as tf
from cases_control_flow import in_branch, read
from parity import Case
from random_values import complex_normal, normal, single
from rows import case, ints, numeric


def call(x: Any, y: Any) -> Any:
    return tf.function(lambda x, y: x * y * y + tf.sin(x))(x, y)


def call_twice(x: Any, y: Any) -> Any:
    function = tf.function(lambda x, y: (x * y, tf.exp(y)))
    first, second = function(x, y)
    third, _ = function(first, second)
    return [third, second]


def captures(x: Any, y: Any) -> Any:
    z = x * y
    return tf.function(lambda x: x * z * z)(x)


def call_in_call(x: Any, y: Any) -> Any:
    @tf.function
    def inner(x: Any, y: Any) -> Any:
        return x * y * y

    @tf.function
    def outer(x: Any, y: Any) -> Any:
        return inner(x, y) * inner(y, x), inner(y, y)

    return outer(x, y)


def call_with_branches(x: Any, y: Any) -> Any:
    @tf.function
    def function(x: Any, y: Any) -> Any:
        if x[0] > y[0]:
            return x * x * y
        return tf.exp(x) * y

    return function(x, y) * function(y, x)


def many_arguments(*xs: Any) -> Any:
    """More inputs than a node stores inline."""

    @tf.function
    def function(*xs: Any) -> Any:
        return tf.add_n([(k + 1.0) * x ** (k + 1) for k, x in enumerate(xs)]), xs[11]

    return function(*xs)


def attention(x: Any, w: Any) -> Any:
    @tf.function
    def layer(x: Any, w: Any) -> Any:
        scores = tf.nn.softmax(tf.matmul(x, x, transpose_b=True))
        return tf.nn.elu(tf.matmul(scores, tf.matmul(x, w)))

    return layer(layer(x, w), w)


def call_reads_variable(x: Any, v: Any) -> Any:
    @tf.function
    def function(x: Any, v: Any) -> Any:
        value = read(v, x)
        return x * value * value, value

    return function(x, v)


def assigns_another(x: Any, v: Any, w: Any) -> Any:
    """The function reads one variable and writes another."""

    @tf.function
    def function(x: Any, v: Any, w: Any) -> Any:
        rows.call("AssignAddVariableOp", w, x)
        return x * read(v, x) ** 2

    return function(x, v, w)


def assigns_what_it_reads(x: Any, v: Any) -> Any:
    @tf.function
    def function(x: Any, v: Any) -> Any:
        value = read(v, x)
        rows.call("AssignAddVariableOp", v, x)
        return x * value * value

    return function(x, v)


def random(x: Any) -> Any:
    return tf.random.normal(tf.shape(x), dtype=x.dtype)


@tf.function
def draws_stateless(x: Any) -> Any:
    return x * tf.random.stateless_normal(tf.shape(x), [1, 2], dtype=x.dtype)


def also_draws(x: Any) -> Any:
    """No gradient needs the drawn numbers."""

    def function(x: Any) -> Any:
        noise = random(x)
        return x * x, tf.zeros_like(noise), noise

    squares, zeros, _ = tf.function(function)(x)
    return [squares, zeros]


def remote(name: str, function: Any, *inputs: Any) -> Case:
    """A RemoteCall, which Python has no gradient of, to the device that runs it."""

    def build(*xs: Any) -> Any:
        specs = [tf.TensorSpec(x.shape, x.dtype) for x in xs]
        concrete = tf.function(function).get_concrete_function(*specs)
        target = "/job:localhost/replica:0/task:0/device:CPU:0"
        types = [x.dtype for x in concrete.outputs]
        return rows.call("RemoteCall", target, list(xs), Tout=types, f=concrete)

    return numeric("RemoteCall", name, *inputs, build=build)


def stateless(name: str, build: Any, *inputs: Any, **more: Any) -> Case:
    return case("StatelessCase", f"call_{name}", *inputs, build=in_branch(build), **more)


def stateful(name: str, build: Any, *inputs: Any, **more: Any) -> Case:
    return case("Case", f"call_{name}", *inputs, build=in_branch(build), **more)


no_path = tf.function(lambda x: tf.ones_like(x) * tf.stop_gradient(x))
X, Y, W = normal(3), normal(3, seed=1), normal(3, seed=2)
Z = complex_normal(3)

CASES = [
    stateless("formula", call, X, Y),
    stateless("float", call, single(3), single(3, seed=1)),
    stateless("complex", call, Z, complex_normal(3, seed=1)),
    stateless("twice", call_twice, X, Y),
    stateless("captures", captures, X, Y),
    stateless("nested", call_in_call, X, Y),
    stateless("branches", call_with_branches, X, Y),
    stateless("broadcast", call, normal(3, 2), normal(2, seed=1)),
    stateless("many_arguments", many_arguments, *(normal(2, seed=k) for k in range(12))),
    stateless(
        "unused_argument", lambda x, y: tf.function(lambda x, y: (x * x, y * y))(x, y)[0], X, Y
    ),
    stateless("no_path", no_path, X, no_gradient=True, second_order=None),
    stateless("attention", attention, normal(3, 4), normal(4, 4)),
    stateless("draws_stateless", draws_stateless, X),
    stateful("variable", call_reads_variable, X, Y, variables=[1]),
    stateful("assigns_another", assigns_another, X, Y, W, variables=[1, 2], wrt=[0, 1]),
    stateful("also_draws", also_draws, X),
    stateful("assigns_what_it_reads", assigns_what_it_reads, X, Y, variables=[1]),
    remote("formula", lambda x, y: [x * y * y + tf.sin(x)], X, Y),
    remote("two_results", lambda x, y: [x * y, tf.exp(y)], X, Y),
    remote("complex", lambda x, y: [x * y], Z, Z[::-1]),
]

# ---- SymbolicGradient: the gradient of a function or an op by its name


def _function(body: Callable[..., Any], inputs: Sequence[np.ndarray]) -> Any:
    """The name of a function that is added to the graph."""
    specs = [tf.TensorSpec(None, x.dtype) for x in inputs]
    concrete = tf.function(body, input_signature=specs).get_concrete_function()
    concrete.add_to_graph(tf.compat.v1.get_default_graph())
    return tf.compat.v1.NameAttrList(name=concrete.function_def.signature.name)


def _op(op: str, _: Any, **attributes: Any) -> Any:
    f = tf.compat.v1.NameAttrList(name=op)
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
        return rows.call("SymbolicGradient", [*xs, *upstream], Tout=types, f=f)

    return numeric("SymbolicGradient", name, list(inputs), *upstream, build=build, **more)


def product_of_sines(x: Any, y: Any) -> Any:
    return tf.sin(x) * y * y


def twice(x: Any, y: Any) -> Any:
    return tf.function(product_of_sines)(x, y) + tf.function(product_of_sines)(y, x)


def with_rows(x: Any, rows: Any) -> Any:
    return tf.sin(tf.gather_nd(x, rows)), rows


MATRICES: dict[str, Any] = {
    "T": tf.float64,
    **{"transpose_a": True, "transpose_b": False, "grad_a": False, "grad_b": False},
}
LISTS: dict[str, Any] = {"T": tf.float64, "N": 2, "Tidx": tf.int32}
PAIR = complex_normal(2)
CASES += [
    gradient("formula", product_of_sines, [X, X], X),
    gradient("two_results", lambda x, y: (x * y, tf.exp(y)), [X, X], X, X),
    gradient("calls", twice, [X, X], X),
    gradient("complex", product_of_sines, [PAIR, PAIR], PAIR),
    gradient("rows", with_rows, [X, ints([2], [0], [2])], X, np.zeros((3, 1), np.int32)),
    gradient("static_shapes", product_of_sines, [X, X], X, static="all"),
    gradient("of_tanh", "Tanh", [X], X, T=tf.float64),
    gradient("of_matrix_product", "MatMul", [normal(2, 3), normal(2, 2)], normal(3, 2), **MATRICES),
    gradient("of_list", "ConcatV2", [X, X, ints(0)[0]], normal(6), static="none", **LISTS),
]
