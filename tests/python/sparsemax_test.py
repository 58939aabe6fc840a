"""Sparsemax of difficult rows, along every axis."""

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from commit_sampling import turn_of_commit

import tensorflow_ext as tfe
from tensorflow_ext import raw_ops

_RNG = np.random.default_rng(0)
_XLA = tf.function(tfe.sparsemax, jit_compile=True)
_WAYS = {"eager": tfe.sparsemax, "XLA": _XLA}
_TYPES = [tf.float16, tf.bfloat16, tf.float32, tf.float64]
_SHAPES = [(1, 1), (5, 2), (40, 10), (3, 31), (3, 300), (2, 5000), (1, 100_000)]
every_way = pytest.mark.parametrize("sparsemax", _WAYS.values(), ids=_WAYS)


def _project(logits: np.ndarray) -> np.ndarray:
    """Computes by sorting in extended precision, whose errors are negligible."""
    x = np.asarray(logits, np.longdouble)
    x = x - x.max(axis=-1, keepdims=True)
    ordered = -np.sort(-x, axis=-1)
    sums = np.cumsum(ordered, axis=-1) - 1
    in_support = np.arange(1, x.shape[-1] + 1) * ordered > sums
    size = in_support.sum(axis=-1, keepdims=True)
    return np.maximum(x - np.take_along_axis(sums, size - 1, axis=-1) / size, 0)


def _rows(count: int, size: int) -> np.ndarray:
    """`count` rows of each kind."""
    normal = _RNG.normal(size=(count, size))
    kinds = [
        normal,
        normal * 30,
        normal * 1e-3,
        normal * 1e-3 + 1000,
        np.full_like(normal, 0.3),
        np.round(normal * 4) / 4,  # ties
        np.where(np.arange(size) == size // 2, 1 + 1e-3, np.ones_like(normal)),
        np.zeros_like(normal) - np.log1p(np.arange(size)),
    ]
    return np.concatenate(kinds)


@pytest.mark.parametrize("dtype", _TYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("shape", _SHAPES)
def test_projection(dtype: tf.DType, shape: tuple[int, int]) -> None:
    _check_projection(tfe.sparsemax, tf.cast(_rows(*shape), dtype))


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [(shape, dtype) for shape in _SHAPES for dtype in turn_of_commit(str(shape), _TYPES)],
)
def test_projection_by_xla(dtype: tf.DType, shape: tuple[int, int]) -> None:
    _check_projection(_XLA, tf.cast(_rows(*shape), dtype))


def _check_projection(sparsemax: Callable, logits: tf.Tensor) -> None:
    dtype = logits.dtype
    y = sparsemax(logits).numpy().astype(np.longdouble)
    expected = _project(logits.numpy().astype(np.longdouble))
    mean = 1 / np.maximum((expected > 0).sum(axis=-1, keepdims=True), 1)
    epsilon = np.finfo(np.float64 if dtype == tf.float64 else np.float32).eps
    # XLA sums in a different order.
    of_sums = (32 if sparsemax is tfe.sparsemax else 64) * epsilon * mean
    roundoff = {tf.float16: 2.0**-11, tf.bfloat16: 2.0**-8}.get(dtype, 0) + epsilon
    tiniest = 2.0**-25 if dtype == tf.float16 else 0
    assert np.all(np.abs(y - expected) <= of_sums + roundoff * expected + tiniest)
    # No element is on the wrong side, unless it is nearer than that.
    assert np.all(y[expected > of_sums + tiniest] > 0)
    assert np.all(y[expected == 0] <= of_sums.max())


@every_way
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("logits", "expected"),
    [
        ([1e30, 1e30, 0], [0.5, 0.5, 0]),
        ([3e38, -3e38, 3e38], [0.5, 0, 0.5]),
        ([-1e30, -1e30, -np.inf], [0.5, 0.5, 0]),
        ([0, -np.inf, 0], [0.5, 0, 0.5]),
        ([0, -np.inf, -np.inf], [1, 0, 0]),
        ([0, 0.25, 0.75], [0, 0.25, 0.75]),
        ([2.0**24, 2.0**24 - 1, 0], [1, 0, 0]),
        ([-np.inf] * 3, [np.nan] * 3),
        ([0, np.nan, 0], [np.nan] * 3),
        ([np.nan] * 3, [np.nan] * 3),
        ([0, np.inf, -np.inf], [np.nan] * 3),
    ],
)
def test_exact(
    sparsemax: Callable, dtype: type, logits: list[float], expected: list[float]
) -> None:
    """Bad rows do not affect the others."""
    rows = np.array([[1, 0.5, -1], logits, [0, 0, -2]], dtype)
    y = sparsemax(tf.constant(rows))
    np.testing.assert_array_equal(y, [[0.75, 0.25, 0], expected, [0.5, 0.5, 0]])


@every_way
def test_small_differences(sparsemax: Callable) -> None:
    """The results are exact, though sums of the logits would lose digits."""
    step = np.spacing(np.float32(1))
    y = sparsemax(np.float32([1, 1 + step, 1 + 2 * step]))
    np.testing.assert_allclose(y, [1 / 3 - step, 1 / 3, 1 / 3 + step], rtol=1e-7)
    np.testing.assert_allclose(np.diff(y), step, rtol=0.3)


@every_way
def test_very_many_equal_elements(sparsemax: Callable) -> None:
    y = sparsemax(np.full((1, 3_000_000), 0.1, np.float32)).numpy()
    np.testing.assert_allclose(y, 1 / 3_000_000, rtol=1e-4)


def test_a_row_does_not_depend_on_the_others() -> None:
    """The results do not depend on how threads share the rows."""
    rows = tf.constant(_rows(60, 300), tf.float32)
    together = tfe.sparsemax(rows)
    alone = [tfe.sparsemax(row) for row in rows]
    np.testing.assert_array_equal(together, tf.stack(alone))
    upstream = tf.random.stateless_normal(rows.shape, seed=[1, 2])
    together = raw_ops.sparsemax_grad(upstream, together)
    alone = [raw_ops.sparsemax_grad(*row) for row in zip(upstream, alone, strict=True)]
    np.testing.assert_array_equal(together, tf.stack(alone))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (0, 0)])
@every_way
def test_empty(sparsemax: Callable, shape: tuple[int, ...]) -> None:
    assert sparsemax(tf.zeros(shape)).shape == shape


@every_way
def test_gradient_matches_differences(sparsemax: Callable) -> None:
    logits = tf.constant(_RNG.normal(size=(17, 10)))
    by_tape, by_differences = tf.test.compute_gradient(sparsemax, [logits], delta=1e-6)
    np.testing.assert_allclose(by_tape[0], by_differences[0], atol=1e-8)


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
@every_way
def test_axis(sparsemax: Callable, axis: int) -> None:
    logits = _RNG.normal(size=(2, 3, 4))
    expected = np.moveaxis(tfe.sparsemax(np.moveaxis(logits, axis, -1)), -1, axis)
    y = sparsemax(tf.constant(logits), axis)
    assert y.shape == (2, 3, 4)
    np.testing.assert_allclose(y, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
def test_axis_of_unknown_rank(axis: int) -> None:
    logits = _RNG.normal(size=(2, 3, 4))
    function = tf.function(
        lambda x: tfe.sparsemax(x, axis), input_signature=[tf.TensorSpec(None, "double")]
    )
    np.testing.assert_array_equal(function(logits), tfe.sparsemax(logits, axis))


def test_static_shape() -> None:
    function = tf.function(lambda x: tfe.sparsemax(x, axis=1))
    concrete = function.get_concrete_function(tf.TensorSpec([None, 3, 4]))
    assert concrete.output_shapes.as_list() == [None, 3, 4]
    assert function(tf.zeros([2, 3, 4])).shape == (2, 3, 4)


@pytest.mark.parametrize("axis", [-3, 2, 7])
def test_axis_out_of_range(axis: int) -> None:
    message = rf"argument 'axis' is {axis}, expected -2 <= axis < 2 .* of rank 2"
    with pytest.raises(ValueError, match=message):
        tfe.sparsemax(tf.zeros([2, 3]), axis)
    function = tf.function(lambda x: tfe.sparsemax(x, axis), input_signature=[tf.TensorSpec(None)])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=f"axis.{{2}} is {axis}, expected an axis of"
    ):
        function(tf.zeros([2, 3]))


@pytest.mark.parametrize("axis", [-1, 0])
def test_scalar(axis: int) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="'logits' has shape"):
        tfe.sparsemax(1.0, axis)
