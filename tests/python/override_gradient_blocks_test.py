"""tensorflow_ext.override_gradient: blocks, functions and threads."""

import asyncio
import concurrent.futures
import functools
import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gradient_modes import eager, outside
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import execute
from tensorflow.python.framework import ops

import tensorflow_ext as tfe
from tensorflow_ext._override import _hooks

X = tf.constant([-2.0, 0.5, 3.0])
STRAIGHT_THROUGH = tfe.override_gradient({"Sign": "TfExt>SignStraightThrough"})


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    fast_path = pywrap_tfe.TFE_Py_FastPathExecute
    record_gradient = execute.record_gradient
    yield
    assert not _hooks._installed
    assert pywrap_tfe.TFE_Py_FastPathExecute is fast_path
    assert execute.record_gradient is record_gradient


def test_nested_blocks() -> None:
    def times(factor: float) -> Any:
        return tfe.override_gradient({"Sign": lambda op, dy: dy * factor})

    ten = times(10.0)
    with ten:
        with times(2.0), tfe.override_gradient({"Exp": None}):
            assert eager(tf.sign, X)[0][0] == 2
            assert eager(tf.exp, X)[0] is None
            with ten:
                assert eager(tf.sign, X)[0][0] == 10
            assert outside(tf.sign, X)[0][0] == 2
        assert eager(tf.sign, X)[0][0] == 10
        assert eager(tf.exp, X)[0] is not None
        with pytest.raises(ZeroDivisionError), times(3.0):
            raise ZeroDivisionError
        assert eager(tf.sign, X)[0][0] == 10


def test_recursion() -> None:
    @STRAIGHT_THROUGH
    def repeated(x: tf.Tensor, times: int) -> tf.Tensor:
        return tf.sign(x) + (repeated(x, times - 1) if times > 1 else 0)

    np.testing.assert_array_equal(eager(lambda x: repeated(x, 3), X)[0], [0, 3, 0])


def test_blocks_left_in_the_wrong_order() -> None:
    first, second = (tfe.override_gradient({"Sign": None}) for _ in range(2))
    with second, first, pytest.raises(RuntimeError, match="reverse order"):
        second.__exit__()


def test_function_is_traced_for_each() -> None:
    traces = []

    def counted(x: tf.Tensor) -> tf.Tensor:
        traces.append(x)
        return tf.sign(x)

    inner = tf.function(counted)
    function = tf.function(lambda x: inner(x) * 2)
    for _ in range(3):
        np.testing.assert_array_equal(eager(function, X)[0], [0, 0, 0])
        with STRAIGHT_THROUGH:
            np.testing.assert_array_equal(eager(function, X)[0], [0, 2, 0])
            concrete = function.get_concrete_function(X)
        # A function treats equal replacements as the same.
        with tfe.override_gradient({"Sign": "TfExt>SignStraightThrough"}):
            np.testing.assert_array_equal(eager(function, X)[0], [0, 2, 0])
    assert len(traces) == 2
    np.testing.assert_array_equal(eager(concrete, X)[0], [0, 2, 0])


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_a_function_that_is_run_again(wrap: Any) -> None:
    """tf.recompute_grad: a block inside has an effect, one around it does not."""
    inside = wrap(tf.recompute_grad(STRAIGHT_THROUGH(lambda x: 2 * tf.sign(x))))
    around = STRAIGHT_THROUGH(wrap(tf.recompute_grad(lambda x: 2 * tf.sign(x))))
    np.testing.assert_array_equal(eager(inside, X)[0], [0, 2, 0])
    np.testing.assert_array_equal(eager(around, X)[0], [0, 0, 0])


def test_autograph_converts_decorated_functions() -> None:
    @tf.function
    @STRAIGHT_THROUGH
    def function(x: tf.Tensor) -> tf.Tensor:
        if tf.reduce_sum(x) > 0:  # noqa: SIM108
            y = tf.sign(x)
        else:
            y = x
        return y

    np.testing.assert_array_equal(eager(function, X)[0], [0, 1, 0])
    np.testing.assert_array_equal(eager(function, -X)[0], [1, 1, 1])


def test_threads() -> None:
    """Other threads, and tasks of asyncio, have their own."""
    both_in = threading.Barrier(2)

    def run(factor: float) -> np.ndarray:
        replaced = {"Sign": lambda op, dy: factor * dy}
        found = []
        with tfe.override_gradient(replaced):
            both_in.wait()
            for _ in range(15):
                found.append(eager(tf.sign, X)[0])
                found.append(outside(tf.sign, X)[0])
            both_in.wait()
        return np.unique(found)

    with concurrent.futures.ThreadPoolExecutor() as pool, STRAIGHT_THROUGH:
        results = list(pool.map(run, [2.0, 5.0]))
        untouched = pool.submit(eager, tf.sign, X).result()[0]
    assert [list(result) for result in results] == [[2], [5]]
    np.testing.assert_array_equal(untouched, [0, 0, 0])

    async def task(factor: float) -> float:
        with tfe.override_gradient({"Sign": lambda op, dy: factor * dy}):
            await asyncio.sleep(0)
            return eager(tf.sign, X)[0][0]

    async def tasks() -> list[float]:
        return await asyncio.gather(task(2.0), task(3.0))

    assert asyncio.run(tasks()) == [2, 3]


def test_graphs_are_freed() -> None:
    def registered() -> list[str]:
        gc.collect()
        prefix = "tensorflow_ext.override_gradient:"
        return [name for name in ops.gradient_registry.list() if name.startswith(prefix)]

    before = registered()
    with STRAIGHT_THROUGH:
        function = tf.function(lambda x: tf.cond(x[0] < 9, lambda: tf.sign(x), lambda: x))
        concrete = function.get_concrete_function(X)
    assert len(registered()) > len(before)
    np.testing.assert_array_equal(eager(concrete, X)[0], [0, 1, 0])
    del function, concrete
    assert registered() == before


def test_methods_are_equal() -> None:
    class Scaled:
        def gradient(self, op: Any, dy: tf.Tensor) -> tf.Tensor:
            return 4 * dy

    scaled = Scaled()
    function = tf.function(tf.sign)
    for _ in range(3):
        with tfe.override_gradient({"Sign": scaled.gradient}):
            assert eager(function, X)[0][0] == 4
    assert function.experimental_get_tracing_count() == 1
    partial = functools.partial(Scaled.gradient, scaled)
    with tfe.override_gradient({"Sign": partial}):
        assert eager(function, X)[0][0] == 4
