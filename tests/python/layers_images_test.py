"""Layers over images: data formats, coordinates in mixed precision."""

from collections.abc import Callable

import keras
import numpy as np
import pytest
import tensorflow as tf
from gradient_modes import gradients

import tensorflow_ext as tfe
from tensorflow_ext import layers

_RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (layers.RoiPooling, (1, 1)),
        (layers.RoiAlign, (1, 1)),
        (layers.CorrelationCost, (1, 1, 1, 1, 1)),
        (layers.Resampler, ()),
        (layers.DenseImageWarp, ()),
    ],
)
def test_data_format_of_keras(make: type[keras.layers.Layer], arguments: tuple[int, ...]) -> None:
    """The default is Keras' setting when the layer is made, and is saved."""
    before = keras.config.image_data_format()
    try:
        for data_format in ("channels_first", "channels_last"):
            keras.config.set_image_data_format(data_format)
            layer = make(*arguments)
            assert layer.data_format == data_format
            assert layer.get_config()["data_format"] == data_format
    finally:
        keras.config.set_image_data_format(before)


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
def test_coordinates_in_mixed_precision(dtype: str) -> None:
    """Columns that a half type cannot distinguish are not mixed up."""
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


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize(
    ("layer", "function", "shape"),
    [
        (layers.Resampler, tfe.resampler, (1, 5, 2)),
        (layers.DenseImageWarp, tfe.dense_image_warp, (1, 4, 4, 2)),
    ],
)
def test_gradient_of_coordinates(
    layer: type[keras.layers.Layer], function: Callable, shape: tuple[int, ...], dtype: str
) -> None:
    """The result has their type, whatever the images' type is."""
    half = keras.DTypePolicy(dtype).compute_dtype
    data = tf.cast(_RNG.normal(size=(1, 4, 4, 2)), half)
    points = tf.constant(_RNG.uniform(0.5, 2.5, shape), tf.float32)
    made = layer(dtype=dtype)
    of_data, of_points = gradients(lambda *inputs: made([*inputs]), [data, points])
    assert (of_data.dtype, of_points.dtype) == (half, tf.float32)
    _, expected = gradients(function, [tf.cast(data, tf.float32), points])
    np.testing.assert_array_equal(of_points, expected)
