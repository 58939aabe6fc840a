"""Functions, branches and loops that run as eager ops, differentiated by tapes."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import Client, ClientError, tensorflow_dir
from eager_client import (
    DOUBLE,
    PERSISTENT,
    Context,
    Tape,
    Tensor,
    check_two_orders,
    function,
    tensors_in_memory,
    types,
)

from tensorflow_ext._runtime import _library

X = np.array([0.3, -0.7, 2.0])
CLIENT = Client(tensorflow_dir(), _library.PATH)
SPEC = tf.TensorSpec([3], tf.float64)


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(CLIENT)


def added(context: Context, function: Callable[..., Any], *specs: tf.TensorSpec) -> str:
    """The name of a Python function in the context."""
    concrete = tf.function(function).get_concrete_function(*specs)
    for definition in [*concrete.graph.as_graph_def().library.function, concrete.function_def]:
        context.add_function(definition)
    return concrete.function_def.signature.name


def loop(x: tf.Tensor) -> tf.Tensor:
    def body(i: tf.Tensor, s: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return i + 1, s * tf.tanh(s) + x

    return tf.while_loop(lambda i, _: i < 3, body, (tf.constant(0), x))[1]


def branch(x: tf.Tensor) -> tf.Tensor:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x * tf.sin(x), lambda: x)


def case(x: tf.Tensor) -> tf.Tensor:
    return tf.switch_case(tf.size(x) - 2, [lambda: x, lambda: tf.exp(x) * x, lambda: 2 * x])


def mapped(x: tf.Tensor) -> tf.Tensor:
    return tf.map_fn(lambda v: tf.tanh(v) * v, x)


def text(x: tf.Tensor) -> tf.Tensor:
    """Strings and integers on the way."""
    count = tf.strings.length(tf.strings.as_string(tf.cast(x[0] > 0, tf.int32)))
    return x * x * tf.cast(count, x.dtype)


def inner(x: tf.Tensor) -> tf.Tensor:
    return tf.function(lambda v: v * loop(v))(x) + branch(x)


@pytest.mark.parametrize("body", [loop, branch, case, mapped, text, inner])
def test_functions(context: Context, body: Callable[[tf.Tensor], tf.Tensor]) -> None:
    name = added(context, body, SPEC)
    check_two_orders(context, lambda x: context.run(name, x), tf.function(body), X)


def updated(x: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
    """Reads a variable, then writes to it: another run would read something else."""
    before = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float64)
    with tf.control_dependencies([before]):
        tf.raw_ops.AssignAddVariableOp(resource=handle, value=x)
    return before * x


def drawn(x: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
    value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float64)
    return x * value * tf.random.normal([3], dtype=tf.float64)


def drawn_in_loop(x: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
    def body(i: tf.Tensor, s: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return i + 1, s * tf.random.uniform([3], 1, 2, dtype=tf.float64)

    first = x * tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float64)
    return tf.while_loop(lambda i, _: i < 3, body, (tf.constant(0), first))[1]


@pytest.mark.parametrize("body", [updated, drawn, drawn_in_loop])
def test_what_another_run_would_not_give(
    context: Context, body: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
) -> None:
    """y is linear in x and in the variable, so x dy/dx = v dy/dv = y for the same draws."""
    x, v = context.tensor(X), context.variable(body.__name__, X + 3)
    name = added(context, body, SPEC, tf.TensorSpec([], tf.resource))
    tape = Tape(context, x, v)
    y = context.run(name, x, v)
    dx, dv = tape.gradients([y], [x, v])
    assert dx is not None
    assert dv is not None
    np.testing.assert_allclose(X * dx.numpy(), y.numpy(), rtol=1e-13)
    np.testing.assert_allclose((X + 3) * dv.numpy(), y.numpy(), rtol=1e-13)
    read = context.read(v).numpy()
    np.testing.assert_allclose(read, 2 * X + 3 if body is updated else X + 3, rtol=1e-15)


def drawn_in_call(x: tf.Tensor) -> tf.Tensor:
    squares = tf.function(lambda v: v * v * tf.random.uniform([3], 1, 2, dtype=tf.float64))(x)
    return squares * squares


def squared_in_loop(x: tf.Tensor) -> tf.Tensor:
    def body(i: tf.Tensor, s: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return i + 1, s * s * tf.random.uniform([3], 1, 2, dtype=tf.float64)

    return tf.while_loop(lambda i, _: i < 2, body, (tf.constant(0), x))[1]


@pytest.mark.parametrize("body", [drawn_in_call, squared_in_loop])
@pytest.mark.parametrize("tapes", ["two", "two, without y", "one"])
def test_second_order_through_kept_tensors(
    context: Context, body: Callable[[tf.Tensor], tf.Tensor], tapes: str
) -> None:
    """y is x to the 4th power times draws. The op also returns what its gradient needs."""
    x, one = context.tensor(X), context.tensor(np.ones(3))
    name = added(context, body, SPEC)
    second = Tape(context, x, options=PERSISTENT if tapes == "one" else 0)
    first = second if tapes == "one" else Tape(context, x)
    y = context.run(name, x)
    value = y.numpy()
    gradient = first.gradient(y, x, one)
    if tapes == "two, without y":
        del y, first
    np.testing.assert_allclose(X * gradient.numpy(), 4 * value, rtol=1e-13)
    of_gradient = second.gradient(gradient, x, one)
    np.testing.assert_allclose(X * X * of_gradient.numpy(), 12 * value, rtol=1e-12)


def test_kept_tensors_are_freed(context: Context) -> None:
    """If the program drops y, it drops what the op kept for its gradient."""
    size = 1 << 20
    name = added(
        context,
        lambda x: tf.function(lambda v: v * tf.random.uniform([size], dtype=v.dtype))(x) ** 2,
        tf.TensorSpec([size], tf.float64),
    )
    x = context.tensor(np.ones(size))
    tape = Tape(context, x, options=PERSISTENT)
    y = context.run(name, x)
    before = tensors_in_memory(size)
    for _ in range(50):
        y = context.run(name, x)
    assert tensors_in_memory(size) < before + 15
    assert tape.gradients([y], [x]) != [None]


@pytest.mark.parametrize("op", ["changed", "PartitionedCall"])
def test_a_changed_function(context: Context, op: str) -> None:
    """A function that is removed and defined anew gets another gradient."""
    x = context.tensor(X)
    attrs = {} if op == "changed" else {"f": function("changed"), "Tout": types(DOUBLE)}
    for factor in (2.0, 3.0):
        concrete = tf.function(lambda v, f=factor: v * f).get_concrete_function(SPEC)
        definition = concrete.function_def
        definition.signature.name = "changed"
        context.add_function(definition)
        tape = Tape(context, x)
        y = context.run(op, [x] if attrs else x, **attrs)
        np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.full(3, factor))
        context.checked("TFE_ContextRemoveFunction", context.context, b"changed")


def test_the_gradient_that_a_model_attached(context: Context) -> None:
    """Inlining a SavedModel's calls leaves IdentityN ops with an attribute: their gradient."""
    attached = function(added(context, lambda dy, kept: dy * kept, SPEC, SPEC))
    attached.func.attr["captures"].i = 1
    attached.func.attr["results"].list.i.append(0)
    x, kept = context.tensor(X), context.tensor(X + 1)
    tape = Tape(context, x)
    y, _ = context.run("IdentityN", [x, kept], outputs=2, _tfext_gradient=attached)
    np.testing.assert_array_equal(tape.gradient(y, x, x).numpy(), X * (X + 1))


def test_errors_in_functions(context: Context) -> None:
    x = context.tensor(X)
    name = added(context, lambda v: tf.raw_ops.PreventGradient(input=v, message="no one may"), SPEC)
    tape = Tape(context, x)
    y = context.run(name, x)
    with pytest.raises(ClientError, match="no one may"):
        tape.gradient(y, x)


def test_threads(context: Context) -> None:
    """Each thread has a tape of its own, and all share another one."""
    name = added(context, loop, SPEC)
    shared_x = context.tensor(X)
    shared = Tape(context, shared_x, options=1)
    results: list[np.ndarray] = []
    of_shared: list[Tensor] = []

    def run(k: int) -> None:
        x = context.tensor(X + k)
        for _ in range(5):
            tape = Tape(context, x)
            y = context.run("Mul", context.run(name, x), context.run("Tanh", shared_x))
            gradient = tape.gradient(y, x).numpy()
        results.append(gradient)
        of_shared.append(y)

    threads = [threading.Thread(target=run, args=(k % 2,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({result.tobytes() for result in results}) == 2
    total = shared.gradients(of_shared, [shared_x])[0]
    assert total is not None
    values = sum(y.numpy() for y in of_shared)
    expected = values / np.tanh(X) * (1 - np.tanh(X) ** 2)
    np.testing.assert_allclose(total.numpy(), expected, rtol=1e-12)
