"""Layers over two images. They are called with [a, b]."""

from typing import Any

import keras
import tensorflow as tf

from tensorflow_ext import ops
from tensorflow_ext.layers._common import Shape, check, integer, same_shape
from tensorflow_ext.layers._images import OverImages


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class CorrelationCost(OverImages):
    """Correlates the window around each pixel of one image with the windows around
    nearby pixels of another, by `correlation_cost`.

    Call it with [a, b], both [N, H, W, C]. Returns [N, H', W', D * D], with a channel for
    each displacement. `correlation_cost` defines H', W' and D.

    Args:
      kernel_size: Size of a window along each axis, in pixels; odd.
      max_displacement: Largest displacement along each axis, in pixels; at least 0.
      stride_1: Pixels of a between neighbouring outputs; at least 1.
      stride_2: Pixels between neighbouring displacements; at least 1.
      pad: Pixels of zero padding on each side of the images; at least 0.
      data_format: 'channels_last', or 'channels_first' for images [N, C, H, W] and a
        result [N, D * D, H', W'], which are then transposed
        (tensorflow_ext/layers/_images.py says why). Defaults to that of Keras.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    input_names = ("a", "b")
    has_coordinates = False
    has_channels = (True, True)

    def __init__(
        self,
        kernel_size: int,
        max_displacement: int,
        stride_1: int,
        stride_2: int,
        pad: int,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format, **kwargs)
        self.kernel_size = integer(self, "kernel_size", kernel_size, 1)
        check(self, "kernel_size", kernel_size, kernel_size % 2 == 1, "an odd integer")
        self.max_displacement = integer(self, "max_displacement", max_displacement, 0)
        self.stride_1 = integer(self, "stride_1", stride_1, 1)
        self.stride_2 = integer(self, "stride_2", stride_2, 1)
        self.pad = integer(self, "pad", pad, 0)

    def compute(self, first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
        return ops.correlation_cost(
            first,
            second,
            kernel_size=self.kernel_size,
            max_displacement=self.max_displacement,
            stride_1=self.stride_1,
            stride_2=self.stride_2,
            pad=self.pad,
        )

    def computed_shape(self, first: Shape, second: Shape) -> Shape:
        self.expect(0, first, len(first) == 4, "N", "H", "W", "C")
        valid = same_shape(first, second)
        self.expect(1, second, valid, *(str(size) for size in first))
        border = 2 * (self.max_displacement - self.pad) + self.kernel_size - 1
        for size in first[1:3]:
            valid = size is None or size > border
            least = str(border + 1)
            self.expect(0, first, valid, "N", f"H >= {least}", f"W >= {least}", "C")
        height, width = (
            None if size is None else -(-(size - border) // self.stride_1) for size in first[1:3]
        )
        displacements = 2 * (self.max_displacement // self.stride_2) + 1
        batch = first[0] if second[0] is None else second[0]
        return (batch, height, width, displacements**2)
