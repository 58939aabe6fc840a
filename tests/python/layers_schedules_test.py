"""Layers whose strength or sparsity changes while training."""

import math
import pathlib
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from gradient_modes import with_gradients

from tensorflow_ext import layers

_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(4, 3, 6)).astype(np.float32)


def test_domain_adversarial_schedule() -> None:
    """Ganin and Lempitsky's lambda_p = 2 / (1 + exp(-gamma p)) - 1, then constant."""
    schedule = layers.DomainAdversarialSchedule(20, gamma=10.0, maximum=0.5)
    for step in range(30):
        p = min(step / 20, 1)
        expected = 0.5 * (2 / (1 + math.exp(-10 * p)) - 1)
        np.testing.assert_allclose(schedule(step), expected, rtol=1e-6)
        np.testing.assert_array_equal(schedule(tf.constant(step)), schedule(step))


def test_polynomial_sparsity() -> None:
    """Zhu and Gupta's s_t = s_f + (s_i - s_f) (1 - (t - t_0) / (n dt))^3 for t in
    t_0, t_0 + dt, ..., and no change in between."""
    schedule = layers.PolynomialSparsity(0.5, 0.875, 5, 17, frequency=4)
    expected = dict.fromkeys(range(5), 0.0)
    for t in range(5, 30):
        changed = min((t - 5) // 4 * 4, 12)
        expected[t] = 0.875 + (0.5 - 0.875) * (1 - changed / 12) ** 3
    for t, sparsity in expected.items():
        np.testing.assert_allclose(schedule(t), sparsity, rtol=1e-6)
        np.testing.assert_array_equal(schedule(tf.Variable(t)), schedule(t))
    # The last step counts, even if it is not a multiple of the frequency.
    assert layers.PolynomialSparsity(0.0, 0.5, 0, 10, 1, frequency=7)(10) == 0.5


@pytest.mark.parametrize(
    ("make", "arguments", "name"),
    [
        (layers.DomainAdversarialSchedule, (0,), "steps"),
        (layers.DomainAdversarialSchedule, (1.5,), "steps"),
        (layers.DomainAdversarialSchedule, (5, 0), "gamma"),
        (layers.DomainAdversarialSchedule, (5, 1, math.inf), "maximum"),
        (layers.PolynomialSparsity, (-0.5, 0.5, 0, 1), "initial_sparsity"),
        (layers.PolynomialSparsity, (0, 1.5, 0, 1), "final_sparsity"),
        (layers.PolynomialSparsity, (0, 1, -1, 1), "begin_step"),
        (layers.PolynomialSparsity, (0, 1, 1, 1), "end_step"),
        (layers.PolynomialSparsity, (0, 1, 0, 1, 0.0), "power"),
        (layers.PolynomialSparsity, (0, 1, 0, 1, 1, 0), "frequency"),
    ],
)
def test_invalid_schedules(make: type, arguments: tuple[Any, ...], name: str) -> None:
    with pytest.raises(ValueError, match=f"^{make.__name__}: '{name}' is .*, expected"):
        make(*arguments)


@keras.saving.register_keras_serializable(package="tests")
def _half_of_the_steps(step: tf.Tensor) -> tf.Tensor:
    return tf.cast(step, tf.float32) / 2


@pytest.mark.parametrize(
    "schedule",
    [
        layers.DomainAdversarialSchedule(3),
        keras.optimizers.schedules.PolynomialDecay(1.0, 5, 0.5),
        _half_of_the_steps,
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "float64"])
@pytest.mark.parametrize("jit_compile", [None, False, True])
def test_strength_of_the_reversed_gradient(
    schedule: Any, dtype: str, jit_compile: bool | None
) -> None:
    """Each call in training counts; the output equals the input, bit for bit."""
    layer = layers.GradientReversal(schedule, dtype=dtype)

    def reverse(x: tf.Tensor, training: bool) -> list[tf.Tensor]:
        return with_gradients(lambda x: layer(x, training=training), [x], tf.ones_like)

    if jit_compile is not None:
        reverse = tf.function(reverse, jit_compile=jit_compile)
    # XLA's tanh differs from that of eager execution.
    rounding = 0 if not jit_compile else 1e-2 if dtype == "mixed_bfloat16" else 1e-6
    x = tf.constant([1.5, -math.inf, math.nan, 0.0, -3e38], layer.compute_dtype)
    for step in range(5):
        strength = tf.cast(schedule(tf.constant(step, tf.int64)), tf.float32)
        np.testing.assert_array_equal(layer.strength, strength)
        for training in (False, True):
            assert layer.step.numpy() == step
            y, gradient = reverse(x, training)
            assert y.numpy().tobytes() == x.numpy().tobytes()
            actual = np.asarray(gradient, np.float64)
            expected = [-tf.cast(strength, x.dtype).numpy().astype(np.float64)] * 5
            np.testing.assert_allclose(actual, expected, rtol=rounding)
    assert layer.step.numpy() == 5


def test_resumed_training(tmp_path: pathlib.Path) -> None:
    """A saved model continues from its step."""
    keras.utils.set_random_seed(0)
    x = _RNG.normal(size=(64, 8)).astype(np.float32)
    arguments = {"batch_size": 16, "shuffle": False, "verbose": 0}
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(4, activation="tanh"),
            layers.GradientReversal(layers.DomainAdversarialSchedule(16), name="reversal"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse")
    model.fit(x, x[:, :1], epochs=2, **arguments)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for again in (model, loaded):
        reversal = again.get_layer("reversal")
        assert reversal.step.numpy() == 8
        again.fit(x, x[:, :1], epochs=1, **arguments)
        assert reversal.step.numpy() == 12
        np.testing.assert_allclose(reversal.strength, math.tanh(5 * 12 / 16), rtol=1e-6)
    for actual, expected in zip(loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("level", "zeros"), [(0.0, 0), (0.25, 18), (0.5, 36), (1.0, 72)])
def test_sparsity_is_assigned(level: float, zeros: int) -> None:
    layer = layers.MagnitudePruning(sparsity=0.9)
    layer.level.assign(level)
    assert np.sum(np.asarray(layer(_X)) == 0) == zeros


@pytest.mark.parametrize("arguments", [{}, {"threshold": 1.0, "sparsity": 0.5}])
def test_exactly_one_pruning_argument(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"MagnitudePruning: 'threshold' .* exactly"):
        layers.MagnitudePruning(**arguments)


def test_sparsity_by_a_schedule() -> None:
    """It changes only in training, and then keeps its last value."""
    schedule = layers.PolynomialSparsity(0.25, 0.75, 1, 4, frequency=1)
    layer = layers.MagnitudePruning(sparsity=schedule)
    assert layer.level.numpy() == 0
    for step in range(6):
        y = layer(_X, training=True)
        np.testing.assert_array_equal(layer.level, schedule(step))
        zeros = np.mean(np.asarray(y) == 0)
        np.testing.assert_allclose(zeros, schedule(step), atol=0.5 / _X.size)
        np.testing.assert_allclose(layer.reached, zeros, rtol=1e-6)
        np.testing.assert_array_equal(layer(_X), y)
    assert layer.step.numpy() == 6


class _PrunedDense(keras.layers.Layer):
    """A layer whose kernel is pruned."""

    def __init__(self, units: int, pruning: layers.MagnitudePruning) -> None:
        super().__init__()
        self.units = units
        self.pruning = pruning

    def build(self, input_shape: tuple[int, ...]) -> None:
        shape = (input_shape[-1], self.units)
        self.kernel = self.add_weight(name="kernel", shape=shape)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return tf.matmul(inputs, self.pruning(self.kernel))


def test_training_with_a_report(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Layers in layers and models in models: the loss falls, and the sparsity is the requested
    one, in History, CSVLogger and in print."""
    keras.utils.set_random_seed(0)
    x = _RNG.normal(size=(256, 8)).astype(np.float32)
    y = x[:, :1] * 2 - x[:, 1:2]
    schedule = layers.PolynomialSparsity(0.0, 0.75, 8, 24, frequency=4)
    inner = keras.Sequential(
        [
            keras.Input((8,)),
            _PrunedDense(16, layers.MagnitudePruning(sparsity=schedule, name="first")),
            layers.MagnitudePruning(threshold=0.25, name="same"),
        ],
        name="inner",
    )
    inputs = keras.Input((8,))
    hidden = layers.MagnitudePruning(threshold=0.25, name="same")(inner(inputs))
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile(keras.optimizers.Adam(0.02), "mse")
    report = layers.SparsityReport(verbose=1)
    log = keras.callbacks.CSVLogger(tmp_path / "log.csv")
    history = model.fit(x, y, batch_size=32, epochs=12, callbacks=[report, log], verbose=0).history
    assert history["loss"][-1] < 0.3 * history["loss"][0]
    targets = [float(schedule(8 * epoch + 7)) for epoch in range(12)]
    np.testing.assert_allclose(history["first_target_sparsity"], targets)
    np.testing.assert_allclose(history["first_reached_sparsity"], targets, atol=0.5 / 128)
    assert targets[0] == 0
    assert history["first_reached_sparsity"][-1] == 0.75
    reached = [key for key in history if key.endswith("reached_sparsity")]
    assert len(reached) == 3
    others = set(reached) - {"first_reached_sparsity"}
    assert all("same" in key and 0 < history[key][-1] < 1 for key in others)
    assert not [key for key in history if "same" in key and "target" in key]
    logged = (tmp_path / "log.csv").read_text().splitlines()[0].split(",")
    assert set(reached) < set(logged)
    printed = capsys.readouterr().out
    assert "Epoch 12: sparsity of first: reached 75.00%, target 75.00%\n" in printed


def test_report_without_pruning_layers() -> None:
    """A model without such layers, and a callback that prints nothing."""
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.ones((4, 2), np.float32)
    history = model.fit(x, x[:, :1], callbacks=[layers.SparsityReport()], verbose=0)
    assert set(history.history) == {"loss"}
    with pytest.raises(ValueError, match="SparsityReport: 'verbose' is 3"):
        layers.SparsityReport(verbose=3)
