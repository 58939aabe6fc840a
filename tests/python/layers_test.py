# SPDX-License-Identifier: Apache-2.0
"""The Keras layers: what they compute, and that models with them can be saved,
loaded and trained."""

import dataclasses
import pathlib
from collections.abc import Callable

import keras
import numpy as np
import processes
import pytest
import tensorflow as tf

import tensorflow_ext as tfe
from tensorflow_ext import layers

_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(4, 3, 6)).astype(np.float32)


@dataclasses.dataclass(frozen=True)
class ConfiguredLayer:
    """A layer with attributes that are not its defaults.

    Attributes:
      make: Makes the layer.
      inputs: What it is called with; one array, or several in a list.
      reference: The same of arrays and the layer's weights.
    """

    make: Callable[[], keras.layers.Layer]
    inputs: tuple[np.ndarray, ...]
    reference: Callable[..., tf.Tensor]


LAYERS = {
    "GradientReversal": ConfiguredLayer(
        lambda: layers.GradientReversal(scale=0.5),
        (_X,),
        lambda x: tfe.reverse_gradient(x, scale=0.5),
    ),
    "SignQuantizer": ConfiguredLayer(
        lambda: layers.SignQuantizer(clip=0.5),
        (_X,),
        lambda x: tfe.sign_straight_through(x, clip=0.5),
    ),
    "MagnitudePruning": ConfiguredLayer(
        lambda: layers.MagnitudePruning(threshold=0.5),
        (_X,),
        tfe.prune_by_magnitude,
    ),
    "MagnitudePruning to a sparsity": ConfiguredLayer(
        lambda: layers.MagnitudePruning(sparsity=0.75, gradient="masked"),
        (_X,),
        lambda x, _: tfe.prune_by_magnitude(
            x, np.sort(np.abs(_X), axis=None)[54], gradient="masked"
        ),
    ),
    "LayerNormalization": ConfiguredLayer(
        lambda: layers.LayerNormalization(
            epsilon=0.25, gamma_initializer="uniform", beta_initializer="uniform"
        ),
        (_X,),
        lambda x, gamma, beta: tfe.layer_norm(x, gamma, beta, epsilon=0.25).y,
    ),
    "LayerNormalization without weights": ConfiguredLayer(
        lambda: layers.LayerNormalization(epsilon=0.25, center=False, scale=False),
        (_X,),
        lambda x: tfe.layer_norm(x, tf.ones(6), tf.zeros(6), epsilon=0.25).y,
    ),
    "RmsNormalization": ConfiguredLayer(
        lambda: layers.RmsNormalization(epsilon=0.25, scale_initializer="uniform"),
        (_X,),
        lambda x, scale: tfe.rms_norm(x, scale, epsilon=0.25).y,
    ),
}

_IMAGES = _RNG.normal(size=(2, 5, 6, 3)).astype(np.float32)
_ROIS = np.array([[0, 1, 2, 9, 8], [1, 3, 0, 11.5, 7], [1, 0, 0, 4, 9]], np.float32)
_BINS = {"pooled_height": 2, "pooled_width": 3, "spatial_scale": 0.5}
_SAMPLES = {"sampling_ratio": 2, "aligned": False}
LAYERS |= {
    "RoiPooling": ConfiguredLayer(
        lambda: layers.RoiPooling(**_BINS),
        (_IMAGES, _ROIS),
        lambda data, rois: tfe.roi_pool(data, rois, **_BINS).pooled,
    ),
    "RoiAlign": ConfiguredLayer(
        lambda: layers.RoiAlign(**_BINS, **_SAMPLES),
        (_IMAGES, _ROIS),
        lambda data, rois: tfe.roi_align(data, rois, **_BINS, **_SAMPLES),
    ),
}

every_layer = pytest.mark.parametrize("sample", LAYERS.values(), ids=LAYERS)


def _call(layer: Callable[..., tf.Tensor], sample: ConfiguredLayer) -> tf.Tensor:
    inputs = [tf.constant(x) for x in sample.inputs]
    return layer(inputs[0] if len(inputs) == 1 else inputs)


def _model(sample: ConfiguredLayer) -> keras.Model:
    inputs = [keras.Input(x.shape[1:], batch_size=len(x)) for x in sample.inputs]
    output = sample.make()(inputs[0] if len(inputs) == 1 else inputs)
    return keras.Model(inputs, output)


@every_layer
def test_value(sample: ConfiguredLayer) -> None:
    layer = sample.make()
    actual = _call(layer, sample)
    weights = [tf.constant(weight) for weight in layer.get_weights()]
    expected = sample.reference(*map(tf.constant, sample.inputs), *weights)
    np.testing.assert_array_equal(actual, expected)


@every_layer
def test_output_shape(sample: ConfiguredLayer) -> None:
    shapes = [x.shape for x in sample.inputs]
    layer = sample.make()
    actual = layer.compute_output_shape(shapes[0] if len(shapes) == 1 else shapes)
    assert tuple(actual) == _call(layer, sample).shape


@every_layer
def test_config(sample: ConfiguredLayer) -> None:
    layer = sample.make()
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(layer)
    )
    assert type(again) is type(layer)
    assert again.get_config() == layer.get_config()


@every_layer
def test_model_is_saved_and_loaded(
    sample: ConfiguredLayer, tmp_path: pathlib.Path
) -> None:
    model = _model(sample)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    inputs = [tf.constant(x) for x in sample.inputs]
    np.testing.assert_array_equal(loaded(inputs), model(inputs))


@every_layer
def test_gradient_of_a_loaded_model(
    sample: ConfiguredLayer, tmp_path: pathlib.Path
) -> None:
    model = _model(sample)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    gradients = []
    for tested in (model, loaded):
        sources = [tf.constant(sample.inputs[0]), *tested.trainable_variables]
        rest = [tf.constant(x) for x in sample.inputs[1:]]
        with tf.GradientTape() as tape:
            tape.watch(sources[0])
            loss = tf.reduce_sum(tf.sin(tested([sources[0], *rest])))
        gradients.append(tape.gradient(loss, sources))
        assert all(gradient is not None for gradient in gradients[-1])
    for actual, expected in zip(gradients[1], gradients[0], strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("ours", "keras_layer"),
    [
        (layers.LayerNormalization, keras.layers.LayerNormalization),
        (layers.RmsNormalization, keras.layers.RMSNormalization),
    ],
)
def test_normalization_is_that_of_keras(
    ours: type[keras.layers.Layer], keras_layer: type[keras.layers.Layer]
) -> None:
    """The same defaults, and one takes the weights of the other."""
    theirs, mine = keras_layer(), ours()
    theirs.build(_X.shape)
    mine.build(_X.shape)
    weights = [_RNG.normal(size=w.shape) for w in theirs.get_weights()]
    theirs.set_weights(weights)
    mine.set_weights(weights)
    np.testing.assert_allclose(mine(_X), theirs(_X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "make", [layers.LayerNormalization, layers.RmsNormalization], ids=["Layer", "Rms"]
)
def test_normalization_in_mixed_precision(make: type[keras.layers.Layer]) -> None:
    layer = make(dtype="mixed_bfloat16")
    y = layer(_X)
    assert y.dtype == tf.bfloat16
    assert all(weight.dtype == "float32" for weight in layer.weights)


def test_normalization_of_an_unknown_size() -> None:
    with pytest.raises(ValueError, match="expected a known last dimension"):
        layers.LayerNormalization().build((None, None))


def test_training_with_normalization() -> None:
    keras.utils.set_random_seed(0)
    x = _RNG.normal(size=(256, 8)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.float32)
    model = keras.Sequential(
        [
            keras.layers.Dense(32, activation="tanh"),
            layers.LayerNormalization(),
            keras.layers.Dense(16, activation="tanh"),
            layers.RmsNormalization(),
            keras.layers.Dense(1),
        ]
    )
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    losses = model.fit(x, y, epochs=40, verbose=0).history["loss"]
    assert losses[-1] < 0.5 * losses[0]


def test_the_package_alone_loads_a_model(tmp_path: pathlib.Path) -> None:
    """Keras knows the layers without an import of them."""
    model = keras.Sequential([keras.Input((3,)), layers.SignQuantizer()])
    model.save(tmp_path / "model.keras")
    processes.run(
        f"""
        import keras
        import tensorflow_ext
        keras.saving.load_model({str(tmp_path / "model.keras")!r})
        """
    )


@pytest.mark.parametrize(
    ("level", "zeros"), [(0.0, 0), (0.25, 18), (0.5, 36), (1.0, 72)]
)
def test_sparsity_is_assigned(level: float, zeros: int) -> None:
    layer = layers.MagnitudePruning(sparsity=0.9)
    layer.level.assign(level)
    assert np.sum(np.asarray(layer(_X)) == 0) == zeros


@pytest.mark.parametrize(
    "arguments", [{}, {"threshold": 1.0, "sparsity": 0.5}, {"sparsity": 1.5}]
)
def test_what_to_prune_is_said_once(arguments: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"MagnitudePruning: '(threshold|sparsity)'"):
        layers.MagnitudePruning(**arguments)
