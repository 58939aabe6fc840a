"""Tapes of the eager C API, compared with Python's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import Client, ClientError, tensorflow_dir
from eager_client import (
    DOUBLE,
    NO_VARIABLES,
    PERSISTENT,
    ZEROS,
    Context,
    Tape,
    Tensor,
    check_two_orders,
    dtype,
    in_thread,
    tensors_in_memory,
)

from tensorflow_ext._runtime import _library

X = np.array([[0.3, -0.7, 2.0], [1.5, 0.1, -0.4]])
CLIENT = Client(tensorflow_dir(), _library.PATH)


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(CLIENT)


def values(tensors: list[Tensor | None]) -> list[np.ndarray | None]:
    return [None if tensor is None else tensor.numpy() for tensor in tensors]


def test_first_and_second_order(context: Context) -> None:
    check_two_orders(
        context,
        lambda x: context.run("Mul", context.run("Tanh", x), x),
        lambda x: tf.tanh(x) * x,
        X,
    )


def test_several_ys_and_xs(context: Context) -> None:
    """A y on the way to another, an x twice, a y that is an x, broadcasting, and a list input."""
    x, z = context.tensor(X), context.tensor(X[0])
    tape = Tape(context, x, z, options=PERSISTENT)
    y = context.run("Mul", x, z)
    joined = context.run("ConcatV2", [y, x], context.tensor(np.int32(0)))
    dx, again, dz, dy = values(tape.gradients([joined, y, z], [x, x, z, y]))
    np.testing.assert_allclose(dx, np.broadcast_to(2 * X[0] + 1, X.shape), rtol=1e-14)
    np.testing.assert_array_equal(again, dx)
    np.testing.assert_allclose(dz, 2 * X.sum(0) + 1, rtol=1e-14)
    np.testing.assert_array_equal(dy, np.full(X.shape, 2.0))


def test_outputs_that_are_not_used(context: Context) -> None:
    x = context.tensor(X)
    tape = Tape(context, x, options=PERSISTENT)
    axis = context.tensor(np.int32(0))
    first, _ = context.run("Split", axis, x, outputs=2, num_split=2)
    np.testing.assert_array_equal(tape.gradient(first, x).numpy(), [[1, 1, 1], [0, 0, 0]])
    value, index = context.run("TopKV2", x, context.tensor(np.int32(1)), outputs=2)
    np.testing.assert_array_equal(tape.gradient(value, x).numpy(), [[0, 0, 1], [1, 0, 0]])
    with pytest.raises(ClientError, match=r"y\[0\] has the type int32, which has no gradient"):
        tape.gradient(index, x)


def test_an_op_with_integer_outputs_alone(context: Context) -> None:
    x = context.tensor(X)
    tape = Tape(context, x)
    index = context.run("ArgMax", x, context.tensor(np.int32(1)))
    y = context.run(
        "Mul",
        x,
        context.run(
            "Cast",
            context.run("Max", index, context.tensor(np.int32(0))),
            SrcT=dtype(9),
            DstT=dtype(DOUBLE),
        ),
    )
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.full(X.shape, 2.0))


def test_an_op_again_with_other_values(context: Context) -> None:
    """A plan may assume the values of axes and sizes; others need another plan."""
    x = context.tensor(X)
    for axis, shape in (0, (1, 3)), (1, (2, 1)):
        tape = Tape(context, x)
        y = context.run("Sum", x, context.tensor(np.int32(axis)))
        expected = np.broadcast_to(y.numpy().reshape(shape), X.shape)
        np.testing.assert_array_equal(tape.gradient(y, x, y).numpy(), expected)


@pytest.mark.parametrize("unconnected", [0, ZEROS])
def test_unconnected(context: Context, unconnected: int) -> None:
    x, z = context.tensor(X), context.tensor(X[0])
    v = context.variable("unread", X)
    tape = Tape(context, x, z)
    y = context.run("Tanh", context.run("StopGradient", x))
    found = values(tape.gradients([y], [x, z, v], unconnected=unconnected))
    if unconnected == ZEROS:
        for gradient, shape in zip(found, [(2, 3), (3,), (2, 3)], strict=True):
            np.testing.assert_array_equal(gradient, np.zeros(shape))
    else:
        assert found == [None, None, None]


def test_variables(context: Context) -> None:
    """Read twice, gathered, written between; by the handle."""
    v, w = context.variable("v", X[0]), context.variable("w", X)
    tape = Tape(context, options=PERSISTENT)
    before = context.read(v)
    context.run("AssignVariableOp", v, context.tensor(X[1]), outputs=0)
    rows = context.run("ResourceGather", w, context.tensor(np.int32([1, 1])), dtype=dtype(DOUBLE))
    y = context.run("Mul", context.run("Mul", before, context.read(v)), rows)
    dv, dw = values(tape.gradients([y], [v, w]))
    np.testing.assert_allclose(dv, 2 * X[1] * (X[0] + X[1]), rtol=1e-14)
    np.testing.assert_allclose(dw, [np.zeros(3), 2 * X[0] * X[1]], rtol=1e-14)


def test_which_variables_are_watched(context: Context) -> None:
    v = context.variable("watched", X)
    none = Tape(context, options=NO_VARIABLES)
    asked = Tape(context, v, options=NO_VARIABLES)
    by_itself = Tape(context)
    y = context.run("Tanh", context.read(v))
    assert none.gradients([y], [v]) == [None]
    expected = 1 - np.tanh(X) ** 2
    np.testing.assert_allclose(asked.gradient(y, v).numpy(), expected, rtol=1e-14)
    np.testing.assert_allclose(by_itself.gradient(y, v).numpy(), expected, rtol=1e-14)
    # Another thread's variables are its own, but tensors that are watched are everyone's.
    tape = Tape(context)
    y = in_thread(lambda: context.run("Tanh", context.read(v)))
    assert tape.gradients([y], [v]) == [None]
    x = context.tensor(X)
    tape = Tape(context, x)
    y = in_thread(lambda: context.run("Tanh", x))
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected, rtol=1e-14)


def test_stop_resume_and_reset(context: Context) -> None:
    x = context.tensor(X)
    tape = Tape(context, x, options=PERSISTENT)
    y = context.run("Tanh", x)
    tape.stop()
    unseen = context.run("Exp", x)
    tape.resume()
    z = context.run("Mul", y, unseen)
    expected = (1 - np.tanh(X) ** 2) * np.exp(X)
    np.testing.assert_allclose(tape.gradient(z, x).numpy(), expected, rtol=1e-14)
    tape.reset()
    with pytest.raises(ClientError, match=r"x\[0\] is no tensor that the tape watches"):
        tape.gradient(z, x)
    once = Tape(context, x)
    y = context.run("Tanh", x)
    once.gradient(y, x)
    for use in (lambda: once.gradient(y, x), once.resume, once.stop):
        with pytest.raises(ClientError, match="The tape is used up"):
            use()
    once.reset()
    once.watch(x)
    once.gradient(context.run("Tanh", x), x)


def test_jacobian_and_jvp(context: Context) -> None:
    x, z = context.tensor(X), context.tensor(X[0])
    tape = Tape(context, x, z, options=PERSISTENT)
    y = context.run("Mul", context.run("Sin", x), z)
    dx, dz = values(tape.jacobian(y, [x, z]))
    expected_x, expected_z = tf.constant(X), tf.constant(X[0])
    with tf.GradientTape() as python:
        python.watch([expected_x, expected_z])
        expected_y = tf.sin(expected_x) * expected_z
    expected = python.jacobian(expected_y, [expected_x, expected_z])
    np.testing.assert_allclose(dx, expected[0], rtol=1e-14)
    np.testing.assert_allclose(dz, expected[1], rtol=1e-14)
    unrelated = context.tensor(X)
    tape.watch(unrelated)
    tangents = [unrelated, context.tensor(X - 1), context.tensor(X[1])]
    (derivative,) = values(tape.jvp([y], [unrelated, x, z], tangents))
    along = np.einsum("ijkl,kl->ij", expected[0], X - 1) + np.einsum("ijk,k->ij", expected[1], X[1])
    np.testing.assert_allclose(derivative, along, rtol=1e-13)
    with pytest.raises(ClientError, match="Make the tape persistent"):
        Tape(context, x).jacobian(y, [x])


def test_errors(context: Context) -> None:
    x = context.tensor(X)
    tape = Tape(context, x, options=PERSISTENT)
    prevented = context.run("PreventGradient", x, message="no one may")
    decoder = {"beam_width": 1, "top_paths": 1}
    lengths = context.tensor(np.int32([1, 1]))
    logits = context.run("ExpandDims", x, context.tensor(np.int32(0)))
    *_, likelihood = context.run("CTCBeamSearchDecoder", logits, lengths, outputs=4, **decoder)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: tape.gradient(prevented, x), "no one may"),
        (lambda: tape.gradient(likelihood, x), "No gradient defined for op: CTCBeamSearchDecoder"),
        (lambda: tape.gradient(x, context.tensor(X)), r"x\[0\] is no tensor that the tape watches"),
        (lambda: tape.gradient(x, x, context.tensor(X[0])), r"dy\[0\]: expected double\[2,3\] as"),
        (lambda: tape.gradient(x, x, context.tensor(np.float32(X))), r"got float\[2,3\]"),
        (lambda: tape.watch(context.tensor(np.int32(1))), "x.0. has the type int32"),
        (
            lambda: tape.gradients([x], [x], unconnected=7),
            "unconnected: expected TFEXT_UNCONNECTED",
        ),
        (lambda: Tape(context, options=8), "options: expected the bits"),
    ]
    for use, message in cases:
        with pytest.raises(ClientError, match=message):
            use()
    for name, arguments, message in (
        ("TfExt_NewTape", (None, 0), "context: expected an eager context, got NULL"),
        ("TfExt_TapeWatch", (None, x.handle), "tape: expected a tape, got NULL"),
        ("TfExt_TapeWatch", (tape.tape, None), r"x\[0\]: expected a tensor, got NULL"),
    ):
        with pytest.raises(ClientError, match=message), context._client.status() as status:
            getattr(context.library, name)(*arguments, status)


def test_what_is_freed(context: Context) -> None:
    """Memory that no gradient needs, or that the program has dropped, is used again."""
    size = 1 << 20
    x = context.tensor(np.ones(size))
    tape = Tape(context, x, options=PERSISTENT)

    def chain(op: str, length: int) -> Tensor:
        y = x
        for _ in range(length):
            y = context.run(op, y)
        return y

    y = chain("Tanh", 20)  # The gradient of Tanh takes its output.
    before = tensors_in_memory(size)
    for _ in range(10):
        y = chain("Tanh", 20)
    assert tensors_in_memory(size) < before + 30  # A second chain while the first is there.
    y = chain("Neg", 100)  # The gradient of Neg takes nothing.
    for _ in range(100):
        context.run("Tanh", x)
    assert tensors_in_memory(size) < before + 30
    assert tape.gradients([y], [x]) != [None]


def test_a_long_chain(context: Context) -> None:
    """Neither a small stack nor time grows with the chain's length."""

    def run() -> float:
        x = context.tensor(np.float64(1.0))
        tape = Tape(context, x, options=PERSISTENT)
        y = x
        for _ in range(20_000):
            y = context.run("Identity", y)
        gradient = float(tape.gradient(y, x).numpy())
        del y
        return gradient

    assert in_thread(run) == 1.0


def test_asynchronous() -> None:
    context = Context(CLIENT, asynchronous=True)
    x = context.tensor(X)
    v = context.variable("asynchronous", X)
    second = Tape(context, x, v)
    first = Tape(context, x, v)
    y = context.run("Mul", context.run("Tanh", x), context.read(v))
    dx, dv = first.gradients([y], [x, v])
    assert dx is not None
    assert dv is not None
    np.testing.assert_allclose(dx.numpy(), (1 - np.tanh(X) ** 2) * X, rtol=1e-14)
    np.testing.assert_allclose(dv.numpy(), np.tanh(X), rtol=1e-14)
    expected = -2 * np.tanh(X) * (1 - np.tanh(X) ** 2) * X
    np.testing.assert_allclose(second.gradient(dx, x).numpy(), expected, rtol=1e-14)


def test_copies_to_devices(context: Context) -> None:
    x = context.tensor(X)
    tape = Tape(context, x)
    copy = context.copy(x, "/job:localhost/replica:0/task:0/device:CPU:0")
    y = context.run("Tanh", copy)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 1 - np.tanh(X) ** 2, rtol=1e-14)
