"""Base class of the layers over images.

data_format: the kernels compute channels-last, because their vectors run over the
channels of a pixel, which are then adjacent in memory. With data_format
'channels_first', a layer transposes its images and its result, which reads and writes
each of them, and each of their gradients, once more. On a CPU, a training step then
takes about twice as long in RoiAlign and Resampler, and 1.5 times as long in
CorrelationCost.

Coordinates (of regions, points and flows) count pixels, but bfloat16 has no odd number
above 256 and float16 none above 2048. If its compute type is one of these, a layer that
takes coordinates computes in float32 and returns the compute type. Keras does not cast
the inputs of such a layer, so coordinates of type float32 keep their values.
"""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tensorflow_ext.layers._common import OfTwo, Shape, check, check_shape
from tensorflow_ext.ops._common import DATA_FORMATS, channels_first, channels_last, transpose


class OverImages(OfTwo):
    """A layer that takes images, in a data format, and one other input.

    Attributes:
      has_coordinates: Whether one of the inputs holds coordinates.
      has_channels: Which of the inputs are in the data format.
    """

    has_coordinates = True
    has_channels = (True, False)

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if data_format is None:
            data_format = keras.config.image_data_format()
        expected = "'channels_last' or 'channels_first'"
        valid = data_format in DATA_FORMATS
        check(self, "data_format", data_format, valid, expected)
        self.data_format = data_format
        if self.has_coordinates:
            self.autocast = False

    def compute(self, first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
        """The result for inputs whose channels are last."""
        raise NotImplementedError

    def computed_shape(self, first: Shape, second: Shape) -> Shape:
        """The shape of the result of `compute`.

        Raises:
          ValueError: A shape is wrong; raised by `expect`.
        """
        raise NotImplementedError

    def expect(self, which: int, shape: Shape, valid: bool, *expected: str) -> None:
        """Raises a ValueError unless the shape is valid.

        Args:
          which: Index of the input.
          shape: Its shape, channels last.
          valid: Whether the shape is valid.
          *expected: The expected dimensions, channels last.
        """
        if self._is_transposed(which):
            shape, expected = channels_first(shape), channels_first(expected)
        name = self.input_names[which]
        check_shape(self, name, shape, valid, f"[{', '.join(expected)}]")

    def call(self, inputs: Sequence[tf.Tensor]) -> tf.Tensor:
        self._check_two(inputs)
        self.compute_output_shape([x.shape for x in inputs])
        computed = tf.as_dtype(self.compute_dtype)
        if self.has_coordinates and computed.size < tf.float32.size:
            computed = tf.float32
        result = self.compute(
            *(
                tf.cast(transpose(x, channels_last) if transposed else x, computed)
                for x, transposed in zip(inputs, map(self._is_transposed, range(2)), strict=True)
            )
        )
        result = tf.cast(result, self.compute_dtype)
        if self.data_format == "channels_first":
            result = transpose(result, channels_first)
        return result

    def compute_output_shape(self, input_shape: Sequence[Shape]) -> Shape:
        self._check_two(input_shape)
        shape = self.computed_shape(
            *(
                channels_last(shape) if self._is_transposed(which) else tuple(shape)
                for which, shape in enumerate(input_shape)
            )
        )
        if self.data_format == "channels_first":
            shape = channels_first(shape)
        return tuple(shape)

    def _is_transposed(self, which: int) -> bool:
        return self.data_format == "channels_first" and self.has_channels[which]
