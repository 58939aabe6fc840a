# SPDX-License-Identifier: Apache-2.0
"""Calls of functions within a branch, alone and in each other.

cases_stock.py has those outside of a branch.
"""

from typing import Any

import rows
import tensorflow as tf
from cases_control_flow import in_branch, read
from parity import Case
from random_values import complex_normal, normal, single
from rows import case, numeric


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
    """More inputs than a node keeps edges inline."""

    @tf.function
    def function(*xs: Any) -> Any:
        return tf.add_n([(k + 1.0) * x ** (k + 1) for k, x in enumerate(xs)]), xs[11]

    return function(*xs)


def unused_argument(x: Any, y: Any) -> Any:
    return tf.function(lambda x, y: (x * x, y * y))(x, y)[0]


def no_path(x: Any) -> Any:
    return tf.function(lambda x: tf.ones_like(x) * tf.stop_gradient(x))(x)


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
    """What is written is not what is read."""

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


def draws(x: Any) -> Any:
    return tf.function(lambda x: x * tf.random.normal(tf.shape(x), dtype=x.dtype))(x)


def draws_stateless(x: Any) -> Any:
    def noisy(x: Any) -> Any:
        return x * tf.random.stateless_normal(tf.shape(x), [1, 2], dtype=x.dtype)

    return tf.function(noisy)(x)


def draws_below(x: Any) -> Any:
    noise = tf.function(lambda x: tf.random.normal(tf.shape(x), dtype=x.dtype))
    return tf.function(lambda x: x * noise(x))(x)


def also_draws(x: Any) -> Any:
    """No gradient needs what is drawn."""

    def function(x: Any) -> Any:
        noise = tf.random.normal(tf.shape(x), dtype=x.dtype)
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


X, Y, W = normal(3), normal(3, seed=1), normal(3, seed=2)
Z = complex_normal(3)
NOT_THE_SAME = "of op RandomStandardNormal need not give the same value twice"
WRITES = "of op AssignAddVariableOp writes to a resource that the function"

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
    stateless("unused_argument", unused_argument, X, Y),
    stateless("no_path", no_path, X, no_gradient=True, second_order=None),
    stateless("attention", attention, normal(3, 4), normal(4, 4)),
    stateless("draws_stateless", draws_stateless, X),
    stateful("variable", call_reads_variable, X, Y, variables=[1]),
    stateful("assigns_another", assigns_another, X, Y, W, variables=[1, 2], wrt=[0, 1]),
    stateful("also_draws", also_draws, X),
    stateful("assigns_what_it_reads", assigns_what_it_reads, X, Y, variables=[1], error=WRITES),
    stateful("draws", draws, X, error=NOT_THE_SAME),
    stateful("draws_below", draws_below, X, error=NOT_THE_SAME),
    remote("formula", lambda x, y: [x * y * y + tf.sin(x)], X, Y),
    remote("two_results", lambda x, y: [x * y, tf.exp(y)], X, Y),
    remote("complex", lambda x, y: [x * y], Z, Z[::-1]),
]
