# SPDX-License-Identifier: Apache-2.0
"""Layers over images: data formats, coordinates in mixed precision, training."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensorflow_ext as tfe
from tensorflow_ext import layers

_RNG = np.random.default_rng(0)

# Each with a number of bins, or none.
_MAKE: dict[str, Any] = {
    "RoiPooling": lambda **a: layers.RoiPooling(1, 1, **a),
    "RoiAlign": lambda **a: layers.RoiAlign(1, 1, **a),
    "CorrelationCost": lambda **a: layers.CorrelationCost(1, 1, 1, 1, 1, **a),
    "Resampler": layers.Resampler,
    "DenseImageWarp": layers.DenseImageWarp,
}


@pytest.mark.parametrize("make", _MAKE.values(), ids=_MAKE)
def test_data_format_of_keras(make: Any) -> None:
    """The default is what Keras has when the layer is made, and is saved."""
    before = keras.config.image_data_format()
    try:
        for data_format in ("channels_first", "channels_last"):
            keras.config.set_image_data_format(data_format)
            layer = make()
            assert layer.data_format == data_format
            assert layer.get_config()["data_format"] == data_format
    finally:
        keras.config.set_image_data_format(before)


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
def test_coordinates_in_mixed_precision(dtype: str) -> None:
    """Columns that a half type does not tell apart are not mixed up."""
    width = 4100
    image = np.zeros((1, 1, width, 1), np.float32)
    image[0, 0, 4001] = 1
    assert float(tf.cast(4001.0, dtype.removeprefix("mixed_"))) == 4000
    point = np.array([[[4001.0, 0.0]]], np.float32)
    assert np.asarray(layers.Resampler(dtype=dtype)([image, point]), np.float32) == 1
    roi = np.array([[0, 4001, 0, 4001, 0]], np.float32)
    pooled = layers.RoiPooling(1, 1, dtype=dtype)([image, roi])
    assert np.asarray(pooled, np.float32) == 1
    # Half-way to the next column.
    aligned = layers.RoiAlign(1, 1, aligned=False, dtype=dtype)([image, roi])
    assert np.asarray(aligned, np.float32) == 0.5
    flow = np.zeros((1, 1, width, 2), np.float32)
    flow[..., 1] = 3999 - 4001
    y = layers.DenseImageWarp(dtype=dtype)([image, flow])
    assert np.argmax(np.asarray(y, np.float32)) == 3999


def test_gradient_of_coordinates() -> None:
    """It is of their type, whatever the images are."""
    data = tf.constant(_RNG.normal(size=(1, 4, 4, 2)), tf.float16)
    warp = tf.constant([[[1.25, 2.5]]])
    with tf.GradientTape() as tape:
        tape.watch([data, warp])
        y = layers.Resampler(dtype="mixed_float16")([data, warp])
    of_data, of_warp = tape.gradient(y, [data, warp])
    assert (of_data.dtype, of_warp.dtype) == (tf.float16, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(warp)
        y = tfe.resampler(tf.cast(data, tf.float32), warp)
    np.testing.assert_array_equal(of_warp, tape.gradient(y, warp))


def _shifted(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Blobs, the same moved to the right by a whole number of pixels, and how far."""
    y, x = np.mgrid[:12, :12]
    centres = _RNG.uniform(4, 7, size=(n, 2, 1, 1))
    shifts = _RNG.integers(-2, 3, size=n)
    moves = shifts.reshape(-1, 1, 1)
    images = [
        np.exp(-((y - centres[:, 0]) ** 2 + (x - moved) ** 2) / 4)[..., np.newaxis]
        for moved in (centres[:, 1], centres[:, 1] + moves)
    ]
    first, second = (image.astype(np.float32) for image in images)
    return first, second, shifts


def test_training_of_a_motion() -> None:
    """CorrelationCost tells how far something has moved."""
    keras.utils.set_random_seed(0)
    first, second, shifts = _shifted(256)
    a, b = keras.Input((12, 12, 1)), keras.Input((12, 12, 1))
    features = keras.layers.Conv2D(4, 3, padding="same")
    cost = layers.CorrelationCost(1, 2, 1, 1, 2)([features(a), features(b)])
    cost = keras.layers.GlobalAveragePooling2D()(cost)
    model = keras.Model([a, b], keras.layers.Dense(5, "softmax")(cost))
    model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy")
    losses = model.fit([first, second], shifts + 2, epochs=25, verbose=0)
    assert losses.history["loss"][-1] < 0.5 * losses.history["loss"][0]


class _Shift(keras.layers.Layer):
    """Coordinates to which one trained vector is added."""

    def build(self, input_shape: Any) -> None:
        self.shift = self.add_weight(name="shift", shape=(2,), initializer="zeros")

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return inputs + self.shift


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_training_of_coordinates(dtype: str) -> None:
    """Resampler and DenseImageWarp find how far images were moved."""
    y, x = np.mgrid[:12, :12]
    image = np.exp(-((y - 5) ** 2 + (x - 6) ** 2) / 8)[np.newaxis, ..., np.newaxis]
    moved = np.exp(-((y - 6.5) ** 2 + (x - 5) ** 2) / 8)[np.newaxis, ..., np.newaxis]
    points = np.stack([x, y], axis=-1)[np.newaxis]
    inputs = keras.Input((12, 12, 1)), keras.Input((12, 12, 2))
    for layer, start, shift in (
        (layers.Resampler, points, (1, -1.5)),
        (layers.DenseImageWarp, np.zeros_like(points), (1.5, -1)),
    ):
        trained = _Shift(dtype="float32")
        output = layer(dtype=dtype)([inputs[0], trained(inputs[1])])
        model = keras.Model(inputs, output)
        model.compile(keras.optimizers.Adam(0.1), "mse")
        losses = model.fit([image, start], moved, epochs=60, verbose=0)
        assert losses.history["loss"][-1] < 0.05 * losses.history["loss"][0]
        np.testing.assert_allclose(trained.shift, shift, atol=0.2)


@pytest.mark.parametrize("layer", [layers.RoiPooling, layers.RoiAlign])
def test_training_of_regions(layer: type[keras.layers.Layer]) -> None:
    """Features of the part of an image that a label is about."""
    keras.utils.set_random_seed(0)
    images = _RNG.normal(size=(32, 8, 8, 1)).astype(np.float32)
    corner = _RNG.integers(0, 5, size=(32, 2))
    rois = np.column_stack([np.arange(32), corner, corner + 3]).astype(np.float32)
    parts = [images[i, y : y + 4, x : x + 4] for i, (x, y) in enumerate(corner)]
    labels = np.array([part.max() for part in parts], np.float32)
    data, regions = keras.Input((8, 8, 1)), keras.Input((5,))
    features = keras.layers.Conv2D(8, 1, activation="relu")(data)
    pooled = layer(2, 2)([features, regions])
    hidden = keras.layers.Dense(16, "relu")(keras.layers.Flatten()(pooled))
    model = keras.Model([data, regions], keras.layers.Dense(1)(hidden))
    model.compile(keras.optimizers.Adam(0.01), "mse")
    losses = model.fit([images, rois], labels, batch_size=32, epochs=60, verbose=0)
    assert losses.history["loss"][-1] < 0.3 * losses.history["loss"][0]
