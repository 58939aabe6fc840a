"""Layers that sample images at points that other layers compute."""

import keras
import tensorflow as tf

from tensorflow_ext import ops
from tensorflow_ext.layers._common import Shape, same
from tensorflow_ext.layers._images import OverImages


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class Resampler(OverImages):
    """Samples images at given points, by `resampler`: bilinear, 0 outside of the image.

    Call it with [data, warp]: images [N, H, W, C] and points (x, y) in pixels
    [N, ..., 2]. Returns [N, ..., C]. Both inputs have a gradient.

    Args:
      data_format: 'channels_last', or 'channels_first' for data [N, C, H, W] and a
        result [N, C, ...], which are then transposed (tensorflow_ext/layers/_images.py
        says why); warp stays the same. Defaults to that of Keras.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    input_names = ("data", "warp")

    def compute(self, first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
        return ops.resampler(first, second)

    def computed_shape(self, first: Shape, second: Shape) -> Shape:
        self.expect(0, first, len(first) == 4, "N", "H", "W", "C")
        valid = len(second) >= 2 and same(second[0], first[0]) and second[-1] in (2, None)
        batch = "N" if first[0] is None else str(first[0])
        self.expect(1, second, valid, batch, "...", "2")
        return (second[0] if first[0] is None else first[0], *second[1:-1], first[3])


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class DenseImageWarp(OverImages):
    """Warps images by a flow, by `dense_image_warp`: bilinear; points outside of the
    image take the nearest border.

    Call it with [image, flow]: images [N, H, W, C] and, for each pixel (y, x) of the
    result, (dy, dx) [N, H', W', 2]; H' and W' are usually H and W. Returns
    [N, H', W', C], the image at (y - dy, x - dx). Both inputs have a gradient.

    Args:
      data_format: 'channels_last', or 'channels_first' for images [N, C, H, W], flows
        [N, 2, H', W'] and a result [N, C, H', W'], which are then transposed
        (tensorflow_ext/layers/_images.py says why). Defaults to that of Keras.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    input_names = ("image", "flow")
    has_channels = (True, True)

    def compute(self, first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
        return ops.dense_image_warp(first, second)

    def computed_shape(self, first: Shape, second: Shape) -> Shape:
        self.expect(0, first, len(first) == 4, "N", "H", "W", "C")
        valid = len(second) == 4 and same(second[0], first[0]) and second[3] in (2, None)
        batch = "N" if first[0] is None else str(first[0])
        self.expect(1, second, valid, batch, "H'", "W'", "2")
        return (second[0] if first[0] is None else first[0], *second[1:3], first[3])
