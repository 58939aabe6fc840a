"""Activations and normalizations: Keras' view of them, and their random numbers."""

import pathlib
from collections.abc import Callable

import keras
import numpy as np
import pytest

import tensorflow_ext as tfe
from tensorflow_ext import layers

_X = np.random.default_rng(0).normal(size=(4, 3, 6)).astype(np.float32)


@pytest.mark.parametrize(
    ("layer", "function"),
    [
        (layers.GELU, tfe.gelu),
        (layers.Mish, tfe.mish),
        (layers.LiSHT, tfe.lisht),
        (layers.TanhShrink, tfe.tanhshrink),
        (layers.HardShrink, tfe.hardshrink),
        (layers.SoftShrink, tfe.softshrink),
        (layers.SignQuantizer, tfe.sign_straight_through),
        (layers.RReLU, tfe.rrelu),
        (layers.Sparsemax, tfe.sparsemax),
    ],
)
def test_defaults_match_the_function(layer: type[keras.layers.Layer], function: Callable) -> None:
    np.testing.assert_array_equal(layer()(_X), function(_X))


@pytest.mark.parametrize(
    ("ours", "keras_layer"),
    [
        (layers.LayerNormalization, keras.layers.LayerNormalization),
        (layers.RmsNormalization, keras.layers.RMSNormalization),
    ],
)
def test_normalization_matches_keras(
    ours: type[keras.layers.Layer], keras_layer: type[keras.layers.Layer]
) -> None:
    """The defaults are equal, and either layer accepts the other's weights."""
    theirs, mine = keras_layer(), ours()
    theirs.build(_X.shape)
    mine.build(_X.shape)
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=w.shape) for w in theirs.get_weights()]
    theirs.set_weights(weights)
    mine.set_weights(weights)
    np.testing.assert_allclose(mine(_X), theirs(_X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-6), ("float64", 0), ("mixed_float16", 1e-3)]
)
@pytest.mark.parametrize("make", [layers.LayerNormalization, layers.RmsNormalization])
def test_normalization_of_integers(
    make: type[keras.layers.Layer], dtype: str, tolerance: float
) -> None:
    """Includes values that the compute type cannot hold."""
    x = np.arange(12).reshape(2, 6) * 10_000
    y = make(dtype=dtype)(x)
    assert y.dtype == keras.DTypePolicy(dtype).compute_dtype
    expected = make(dtype="float64")(x.astype(np.float64))
    np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)
    even = make(dtype=dtype)(x % 20_000 == 0)
    np.testing.assert_allclose(even, make()(x % 20_000 == 0), rtol=1e-3, atol=1e-3)


def test_random_slopes() -> None:
    """Each call in training draws its own slopes, the same for the same seed; other calls use the
    mean.
    """
    first, second = layers.RReLU(seed=3), layers.RReLU(seed=3)
    x = -np.ones(1000, np.float32)
    seen = [first(x, training=True).numpy() for _ in range(3)]
    for y in seen:
        assert ((y >= -1 / 3) & (y <= -0.125)).all()
        np.testing.assert_array_equal(second(x, training=True), y)
        np.testing.assert_allclose(y.mean(), -(1 / 8 + 1 / 3) / 2, atol=0.01)
        assert sum(np.array_equal(y, z) for z in seen) == 1
    np.testing.assert_array_equal(first(x), [-np.float32((1 / 8 + 1 / 3) / 2)] * 1000)


def test_slopes_continue_after_loading(tmp_path: pathlib.Path) -> None:
    """A model that is saved during training and loaded draws the same numbers as without saving."""
    model = keras.Sequential([keras.Input((50,)), layers.RReLU(), layers.RReLU()])
    x = -np.ones((2, 50), np.float32)
    first = model(x, training=True)
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    expected = model(x, training=True)
    assert np.any(expected != first)
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(x, training=True), expected)
    loaded.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(loaded(x, training=True), expected)
    keras.utils.set_random_seed(1)
    one = keras.models.clone_model(model)(x, training=True)
    keras.utils.set_random_seed(1)
    np.testing.assert_array_equal(keras.models.clone_model(model)(x, training=True), one)


def test_a_file_without_a_state_of_slopes(tmp_path: pathlib.Path) -> None:
    inputs = keras.Input((5,))
    of_other = keras.Model(inputs, keras.layers.ReLU(name="a")(inputs))
    of_other.save_weights(tmp_path / "model.weights.h5")
    layer = layers.RReLU(seed=3, name="a")
    model = keras.Model(inputs, layer(inputs))
    state = layer.seed_generator.state.numpy()
    model.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(layer.seed_generator.state, state)
