"""Gradients of gathered tables as slices, compared with Python's IndexedSlices."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import Client, ClientError, tensorflow_dir
from eager_client import DOUBLE, PERSISTENT, ZEROS, Context, Slices, Tape, Tensor, dtype, types

from tensorflow_ext._runtime import _library

CLIENT = Client(tensorflow_dir(), _library.PATH)
TABLE = np.arange(12.0).reshape(6, 2) / 7
IDS, MORE = np.int32([[4, 1], [4, 0]]), np.int64([5, 4])
RESOURCE = 20


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(CLIENT)


def gathered(context: Context, x: Tensor, ids: np.ndarray) -> Tensor:
    axis = context.tensor(np.int32(0))
    return context.run("GatherV2", x, context.tensor(ids), axis)


def read(context: Context, v: Tensor, ids: np.ndarray) -> Tensor:
    return context.run("ResourceGather", v, context.tensor(ids), dtype=dtype(DOUBLE))


def upstream(like: Tensor) -> np.ndarray:
    value = like.numpy()
    return np.random.default_rng(value.size).normal(size=value.shape)


def pythons(function: Callable[[Any], list[tf.Tensor]], x: Any, dys: Sequence[np.ndarray]) -> Any:
    """Python's gradient of the sum of outputs."""
    with tf.GradientTape() as tape:
        if isinstance(x, tf.Tensor):
            tape.watch(x)
        ys = function(x)
    return tape.gradient(ys, x, [tf.constant(dy) for dy in dys])


def check(found: Slices, expected: tf.IndexedSlices) -> None:
    """The same rows in any order of the gathers; the same sum."""
    assert found.reason == ""
    assert found.dense is None
    assert found.values is not None
    assert found.indices is not None
    assert found.shape is not None
    np.testing.assert_array_equal(found.shape.numpy(), expected.dense_shape)
    rows = np.column_stack([found.indices.numpy(), found.values.numpy()])
    of_python = np.column_stack([expected.indices.numpy(), expected.values.numpy()])
    np.testing.assert_allclose(
        rows[np.lexsort(rows.T)], of_python[np.lexsort(of_python.T)], rtol=1e-14
    )


@pytest.mark.parametrize("ids", [IDS, MORE, np.int32(3), np.zeros([0], np.int32)])
@pytest.mark.parametrize("large", [False, True])
def test_one_gather(context: Context, ids: np.ndarray, large: bool) -> None:
    """Few ids are constants of the plan, many are not."""
    ids = np.tile(ids, 20) if large else ids
    x, v = context.tensor(TABLE), context.variable("one", TABLE)
    tape = Tape(context, x)
    ys = gathered(context, x, ids), read(context, v, ids)
    dys = [upstream(y) for y in ys]
    found = tape.slices(ys, [x, v], [context.tensor(dy) for dy in dys])
    check(found[0], pythons(lambda t: [tf.gather(t, ids)], tf.constant(TABLE), dys[:1]))
    check(found[1], pythons(lambda t: [tf.gather(t, ids)], tf.Variable(TABLE), dys[1:]))


def test_several_gathers(context: Context) -> None:
    """From a variable, a value that was read from it, and Identity; int32 and int64."""
    v = context.variable("several", TABLE)
    tape = Tape(context)
    value = context.run("Identity", context.read(v))
    ys = [read(context, v, IDS), read(context, v, MORE), gathered(context, value, IDS)]
    dys = [upstream(y) for y in ys]
    (found,) = tape.slices(ys, [v], [context.tensor(dy) for dy in dys])
    check(
        found,
        pythons(
            lambda t: [
                tf.gather(t, IDS),
                tf.gather(t, MORE),
                tf.gather(tf.identity(t.read_value()), IDS),
            ],
            tf.Variable(TABLE),
            dys,
        ),
    )
    assert found.indices is not None
    assert found.indices.numpy().dtype == np.int64


def test_repeated_rows_are_summed(context: Context) -> None:
    v = context.variable("summed", TABLE)
    tape = Tape(context)
    y = read(context, v, IDS)
    dy = upstream(y)
    (found,) = tape.slices([y], [v], [context.tensor(dy)], summed=1)
    assert found.indices is not None
    assert found.values is not None
    np.testing.assert_array_equal(found.indices.numpy(), [4, 1, 0])
    expected = [dy[0, 0] + dy[1, 0], dy[0, 1], dy[1, 1]]
    np.testing.assert_allclose(found.values.numpy(), expected, rtol=1e-14)


def test_dense(context: Context) -> None:
    """Another use of the table; another axis; an op between; the table itself; no use."""
    x, z, unused = (context.tensor(TABLE) for _ in range(3))
    v = context.variable("dense", TABLE)
    tape = Tape(context, x, z, unused, options=PERSISTENT)
    mixed = context.run("Mul", gathered(context, x, MORE), gathered(context, x, MORE))
    whole = context.run("Tanh", x)
    columns = context.run("GatherV2", z, context.tensor(np.int32([1])), context.tensor(np.int32(1)))
    between = read(context, v, MORE), context.run("Exp", context.read(v))
    for ys, xs, reason in (
        ([mixed, whole], [x], "the gradient of op Tanh is dense"),
        ([columns], [z], "the gradient of op GatherV2 is dense"),
        ([*between], [v], "the gradient of op Exp is dense"),
        ([mixed, x], [x], "the upstream gradient of a y is dense"),
        ([mixed], [unused], "no y depends on it"),
    ):
        (found,) = tape.slices(ys, xs, unconnected=ZEROS)
        (expected,) = tape.gradients(ys, xs, unconnected=ZEROS)
        assert found.reason == reason
        assert (found.values, found.indices, found.shape) == (None, None, None)
        assert found.dense is not None
        assert expected is not None
        np.testing.assert_allclose(found.dense.numpy(), expected.numpy(), rtol=1e-14)
    (missing,) = tape.slices([mixed], [unused])
    assert missing == Slices(None, None, None, None, "no y depends on it")


def test_rows_that_an_op_needs_dense(context: Context) -> None:
    """A gather of a product: the gradient goes on as a dense one."""
    x, factor = context.tensor(TABLE), context.tensor(TABLE + 1)
    tape = Tape(context, x, options=PERSISTENT)
    y = gathered(context, context.run("Mul", x, factor), IDS)
    dy = context.tensor(upstream(y))
    (found,) = tape.slices([y], [x], [dy])
    assert found.reason == "the gradient of op Mul is dense"
    assert found.dense is not None
    expected = tape.gradient(y, x, dy)
    np.testing.assert_allclose(found.dense.numpy(), expected.numpy(), rtol=1e-14)


def test_second_order(context: Context) -> None:
    x = context.tensor(TABLE)
    second, first = Tape(context, x), Tape(context, x)
    rows = gathered(context, x, MORE)
    (found,) = first.slices([context.run("Mul", rows, rows)], [x])
    assert found.values is not None
    (again,) = second.slices([found.values], [x])
    assert again.values is not None
    np.testing.assert_allclose(found.values.numpy(), 2 * TABLE[MORE], rtol=1e-14)
    np.testing.assert_array_equal(again.values.numpy(), np.full([2, 2], 2.0))


def test_asynchronous() -> None:
    context = Context(CLIENT, asynchronous=True)
    v = context.variable("asynchronous", TABLE)
    tape = Tape(context, v)
    y = read(context, v, IDS)
    dy = upstream(y)
    (found,) = tape.slices([y], [v], [context.tensor(dy)])
    check(found, pythons(lambda t: [tf.gather(t, IDS)], tf.Variable(TABLE), [dy]))


def by_op(
    context: Context, tape: Tensor, y: Sequence[Tensor], x: Sequence[Tensor], **attrs: Any
) -> list[Tensor]:
    """The outputs of the op for tensors of doubles, x[0] a variable."""
    x_types = types(RESOURCE, *[DOUBLE] * (len(x) - 1))
    y_types, dx_types = types(*[DOUBLE] * len(y)), types(*[DOUBLE] * len(x))
    lists = {"Ty": y_types, "Tx": x_types, "Tdy": types(), "Tdx": dx_types, "N": len(x)}
    inputs = tape, y, x, []
    outputs = 3 * len(x) + 1
    return context.run("TfExt>TapeGradientSlices", *inputs, outputs=outputs, **lists, **attrs)


@pytest.mark.parametrize("summed", [False, True])
def test_as_an_op(context: Context, summed: bool) -> None:
    v, x = context.variable("op", TABLE), context.tensor(TABLE)
    tape = context.run("TfExt>NewTape")
    context.run("TfExt>TapeControl", tape, outputs=0, action="resume")
    context.run("TfExt>TapeWatch", tape, x, outputs=0)
    ys = [read(context, v, IDS), context.run("Tanh", x)]
    found = by_op(context, tape, ys, [v, x], sum_repeated=summed)
    context.run("TfExt>TapeControl", tape, outputs=0, action="delete")
    *tensors, reasons = found
    values, dense, indices, none, shape, empty = (tensor.numpy() for tensor in tensors)
    np.testing.assert_array_equal(indices, [4, 1, 0] if summed else IDS.ravel())
    assert indices.dtype == np.int64
    np.testing.assert_array_equal(values[:, 0], [2, 1, 1] if summed else np.ones(4))
    np.testing.assert_array_equal(shape, TABLE.shape)
    np.testing.assert_allclose(dense, 1 - np.tanh(TABLE) ** 2, rtol=1e-14)
    assert none.shape == empty.shape == (0,)
    lengths = context.run("StringLength", reasons).numpy()
    np.testing.assert_array_equal(lengths, [0, len("the gradient of op Tanh is dense")])


def test_errors(context: Context) -> None:
    x = context.tensor(TABLE)
    tape = Tape(context, x)
    with pytest.raises(ClientError, match="repeated: expected TFEXT_REPEATED_STAY or"):
        tape.slices([x], [x], summed=7)
    results = (ctypes.c_void_p * 1)()
    ys_and_xs = ctypes.byref(x.handle), 1, ctypes.byref(x.handle), 1
    call = context.library.TfExt_TapeGradientSlices
    with pytest.raises(ClientError, match="slices"), context._client.status() as status:
        call(tape.tape, *ys_and_xs, None, ZEROS, 0, status, results, None, None)
