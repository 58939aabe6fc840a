"""The slopes that rrelu draws: their values, their distribution, when they change."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import slopes
import tensorflow as tf
from gradient_modes import with_gradients

import tensorflow_ext as tfe
from tensorflow_ext import raw_ops

_SEED = (7, -8)
_SEEDS = [(0, 0), (1, 2), (2, 1), (-5, 2**31 - 1), (2**40 + 3, -(2**50))]
_TYPES = [tf.float16, tf.bfloat16, tf.float32, tf.float64]
every_type = pytest.mark.parametrize("dtype", _TYPES, ids=lambda d: d.name)
_train = functools.partial(tfe.rrelu, training=True)


def _drawn(count: int, seed: Any = _SEED, lower: float = 0.0, upper: float = 1.0) -> np.ndarray:
    """Slopes in float."""
    return -_train(-tf.ones([count]), lower, upper, seed=seed).numpy()


def _inputs(*shape: int, dtype: tf.DType = tf.float32) -> tf.Tensor:
    values = np.random.default_rng(0).normal(size=shape)
    return tf.cast(values, dtype)


def _assert_same_bits(actual: tf.Tensor, expected: tf.Tensor) -> None:
    assert actual.dtype == expected.dtype
    assert actual.numpy().tobytes() == expected.numpy().tobytes()


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 1000])
def test_slopes_match_threefry(count: int, seed: tuple[int, int]) -> None:
    """Nothing is rounded with the bounds 0 and 1."""
    for dtype in (tf.float32, tf.float64):
        actual = -_train(-tf.ones([count], dtype), 0.0, 1.0, seed=seed)
        np.testing.assert_array_equal(actual, slopes.uniform(seed, count, dtype))


@every_type
def test_value(dtype: tf.DType) -> None:
    x = _inputs(33, 65, dtype=dtype)
    wide = tf.cast(x, tf.float64 if dtype == tf.float64 else tf.float32)
    expected = tf.cast(slopes.rrelu(wide, _SEED, -0.5, 1.5), dtype)
    roundoff = {tf.float16: 1e-3, tf.bfloat16: 8e-3, tf.float32: 3e-7}.get(dtype, 1e-15)
    actual = tf.cast(_train(x, -0.5, 1.5, seed=_SEED), tf.float64)
    np.testing.assert_allclose(actual, tf.cast(expected, tf.float64), rtol=roundoff, atol=roundoff)


@every_type
def test_slopes_are_the_same_in_every_type(dtype: tf.DType) -> None:
    x = tf.cast(-tf.ones([1000]), dtype)
    actual = _train(x, 0.25, 0.5, seed=_SEED)
    expected = tf.cast(-_drawn(1000, _SEED, 0.25, 0.5), dtype)
    if dtype == tf.float64:  # float64 continues where float ends
        np.testing.assert_allclose(actual, expected, rtol=0, atol=2.0**-25)
    else:
        _assert_same_bits(actual, expected)


@pytest.mark.parametrize("seed", _SEEDS)
def test_slopes_are_uniform(seed: tuple[int, int]) -> None:
    """At most one random sequence in a thousand exceeds each bound."""
    count = 1_000_000
    drawn = _drawn(count, seed).astype(np.float64)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    standard = 3.3 / np.sqrt(count)
    assert abs(drawn.mean() - 1 / 2) < standard * np.sqrt(1 / 12)
    assert abs(drawn.var() - 1 / 12) < standard * np.sqrt(1 / 180)
    # The Kolmogorov-Smirnov test.
    distance = np.abs(np.sort(drawn) - (np.arange(count) + 0.5) / count).max()
    assert distance < 1.95 / np.sqrt(count)
    # The correlation of pairs, blocks of the loop, and rows of an image.
    for lag in (1, 2, 3, 32, 63, 64, 65, 1024):
        correlation = np.corrcoef(drawn[:-lag], drawn[lag:])[0, 1]
        assert abs(correlation) < standard, lag


def test_seeds_near_each_other_have_nothing_in_common() -> None:
    near = [(a, b) for a in (0, 1, 2**32) for b in (0, 1, -1)]
    drawn = np.stack([_drawn(100_000, seed) for seed in near])
    correlations = np.corrcoef(drawn) - np.eye(len(near))
    assert np.abs(correlations).max() < 4 / np.sqrt(100_000)


def test_slopes_lie_between_the_bounds() -> None:
    for lower, upper in ((0.125, 1 / 3), (1.0, 1.0 + 2**-23), (-3.0, -2.0)):
        drawn = _drawn(100_000, _SEED, lower, upper)
        assert drawn.min() >= np.float32(lower)
        assert drawn.max() <= np.float32(upper)
        assert drawn.max() > drawn.min()


@every_type
@pytest.mark.parametrize("shape", [(), (1,), (2, 3, 5), (1001,), (0, 2)])
def test_xla_gives_the_same_bits(shape: tuple[int, ...], dtype: tf.DType) -> None:
    x, dy = _inputs(*shape, dtype=dtype), tf.ones(shape, dtype) / 3

    def run(x: tf.Tensor) -> list[tf.Tensor]:
        return with_gradients(functools.partial(_train, seed=_SEED), [x], dy)

    compiled = tf.function(run, jit_compile=True)(x)
    for actual, expected in zip(compiled, run(x), strict=True):
        _assert_same_bits(actual, expected)


def test_xla_counts_only_existing_elements() -> None:
    """The function learns the tensor's size only when it runs."""

    def run(x: tf.Tensor) -> tf.Tensor:
        return _train(tf.boolean_mask(x, x[:, 0] < 0.5), seed=_SEED)

    x = _inputs(50, 3)
    _assert_same_bits(tf.function(run, jit_compile=True)(x), run(x))


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("seed_type", [tf.int32, tf.int64])
def test_seed_of_each_slice(jit_compile: bool, seed_type: tf.DType) -> None:
    x = _inputs(3, 4, 5)
    seeds = tf.constant(np.random.default_rng(1).integers(-99, 99, (3, 4, 2)))
    seeds = tf.cast(seeds, seed_type)
    run = tf.function(_train, jit_compile=jit_compile)
    of_rows = tf.stack([_train(x[i], seed=seeds[i, 0]) for i in range(3)])
    _assert_same_bits(run(x, seed=seeds[:, 0]), of_rows)
    of_each = [[_train(x[i, j], seed=seeds[i, j]) for j in range(4)] for i in range(3)]
    _assert_same_bits(run(x, seed=seeds), tf.stack(of_each))


@every_type
def test_gradient_has_the_slopes_of_the_forward_pass(dtype: tf.DType) -> None:
    """The seed may be drawn in any way."""
    y, dx = with_gradients(_train, [-tf.ones([1000], dtype)])
    _assert_same_bits(dx, -y)


def test_gradient_of_a_function_that_draws() -> None:
    @tf.function
    def run(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        y = _train(x)
        return y, tf.gradients(y, x)[0]

    y, dx = run(-tf.ones([1000]))
    _assert_same_bits(dx, -y)


@pytest.mark.parametrize("training", [None, False, 0, np.False_, tf.constant(False)])
def test_without_training_it_is_the_leaky_unit_of_the_mean(training: Any) -> None:
    x = tf.constant([-2.0, -1.0, 0.0, 3.0, np.nan, -np.inf])
    actual = tfe.rrelu(x, 0.25, 0.75, training)
    np.testing.assert_array_equal(actual, [-1, -0.5, 0, 3, np.nan, -np.inf])


@pytest.mark.parametrize("training", [1, np.True_, tf.constant(True), tf.constant(1)])
def test_training_need_not_be_a_bool(training: Any) -> None:
    x = _inputs(10)
    _assert_same_bits(tfe.rrelu(x, training=training, seed=_SEED), _train(x, seed=_SEED))


@pytest.mark.parametrize("jit_compile", [False, True])
def test_training_known_at_run_time(jit_compile: bool) -> None:
    @tf.function(jit_compile=jit_compile)
    def run(x: tf.Tensor, training: tf.Tensor) -> list[tf.Tensor]:
        rrelu = functools.partial(tfe.rrelu, training=training, seed=_SEED)
        return with_gradients(rrelu, [x], tf.identity(x))

    x = _inputs(100)
    for training in (False, True):
        expected = tfe.rrelu(x, training=training, seed=_SEED)
        for actual in run(x, tf.constant(training)):
            _assert_same_bits(actual, expected)


def _twice(draw: Callable[[], tf.Tensor]) -> list[np.ndarray]:
    return [draw().numpy() for _ in range(2)]


def _assert_draws_and_begins_again(start: Callable[[], Callable[[], tf.Tensor]]) -> None:
    first, second = _twice(start())
    assert np.all(first != second)
    np.testing.assert_array_equal([first, second], _twice(start()))


@pytest.mark.parametrize("seed", [None, 5, np.int64(5)])
@pytest.mark.parametrize("graph", [False, True])
def test_each_call_draws_and_set_seed_restarts(seed: Any, graph: bool) -> None:
    def start() -> Callable[[], tf.Tensor]:
        def draw() -> tf.Tensor:
            return _train(-tf.ones([100]), seed=seed)

        tf.random.set_seed(3)
        return tf.function(draw) if graph else draw

    _assert_draws_and_begins_again(start)


def test_each_op_of_a_graph_draws_on_its_own() -> None:
    first, second = tf.function(lambda: [_train(-tf.ones([100])) for _ in range(2)])()
    assert np.all(first != second)


@pytest.mark.parametrize("seed", [(7, -8), [7, -8], np.array([7, -8]), tf.constant(_SEED)])
def test_two_integers_give_the_same_slopes_in_every_call(seed: Any) -> None:
    first, second = _twice(lambda: _train(-tf.ones([100]), seed=seed))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, -_drawn(100, _SEED, 0.125, 1 / 3))


def test_generator() -> None:
    def start() -> Callable[[], tf.Tensor]:
        rng = tf.random.Generator.from_seed(3)
        return lambda: _train(-tf.ones([100]), rng=rng)

    _assert_draws_and_begins_again(start)


@pytest.mark.parametrize("seeds", [[_SEED], [(1, 2), (3, 4), (5, 6)]])
def test_vectorized_map_matches_a_loop(seeds: Sequence[Any]) -> None:
    x, seeds = _inputs(3, 5), tf.constant([*seeds, *seeds, *seeds][:3])
    mapped = tf.vectorized_map(
        lambda one: _train(one[0], seed=one[1]), (x, seeds), fallback_to_while_loop=False
    )
    looped = [_train(x[i], seed=seeds[i]) for i in range(3)]
    _assert_same_bits(mapped, tf.stack(looped))


def test_vectorized_map_draws_for_each_iteration() -> None:
    drawn = tf.vectorized_map(lambda x: _train(x), -tf.ones([50, 4]), fallback_to_while_loop=False)
    assert np.unique(drawn).size == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lower": 0.5}, "'lower' is 0.5 and 'upper' is 0.33"),
        ({"lower": float("nan")}, "'lower' is nan"),
        ({"upper": float("inf")}, "'upper' is inf"),
        ({"seed": 1, "rng": tf.random.Generator.from_seed(1)}, "'seed' .1. and 'rng'"),
    ],
)
@pytest.mark.parametrize("training", [False, True])
def test_errors(arguments: Any, message: str, training: bool) -> None:
    with pytest.raises(ValueError, match=f"^rrelu: argument.*{message}"):
        tfe.rrelu([1.0], training=training, **arguments)


@pytest.mark.parametrize("seed", [[1, 2, 3], [[1, 2]], tf.constant(3), [[1, 2], [3, 4]]])
def test_seed_of_another_shape(seed: Any) -> None:
    def run(x: tf.Tensor) -> tf.Tensor:
        return _train(x, seed=seed)

    x = tf.ones([5])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected \[2\], or the"):
        run(x)
    with pytest.raises(ValueError, match=r"expected \[2\], or the"):
        tf.function(run)(x)
    unknown = tf.function(run, input_signature=[tf.TensorSpec(None)])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="'seed'"):
        unknown(x)


def test_unknown_shapes() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec(None, tf.int64)])
    def run(x: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        y = raw_ops.rrelu(x, seed, lower=0.0, upper=1.0)
        assert y.shape.rank is None
        return y

    x = _inputs(3, 4)
    seed = tf.constant([[1, 2], [3, 4], [5, 6]], tf.int64)
    expected = [_train(x[i], 0.0, 1.0, seed=seed[i]) for i in range(3)]
    _assert_same_bits(run(x, seed), tf.stack(expected))
