# SPDX-License-Identifier: Apache-2.0
"""What every op's function is made of."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy.typing as npt
import tensorflow as tf
from tensorflow.python.autograph.impl import api as autograph

# What tf.convert_to_tensor takes.
TensorLike: TypeAlias = tf.Tensor | tf.Variable | npt.ArrayLike

_Function = TypeVar("_Function", bound=Callable)


def op(function: _Function) -> _Function:
    """Tells AutoGraph that there is no Python control flow to convert."""
    return autograph.autograph_artifact(function)


def channels_last(images: TensorLike, data_format: str, function: str) -> tf.Tensor:
    """`images`, given in `data_format`, as [N, H, W, C].

    The kernels run along the channels of a pixel, which are to lie side by side: images
    in 'channels_first' are transposed, and what is made of them is transposed back.

    Raises:
      ValueError: `data_format` is neither 'channels_last' nor 'channels_first'.
    """
    if data_format == "channels_last":
        return tf.convert_to_tensor(images)
    if data_format == "channels_first":
        return tf.transpose(images, [0, 2, 3, 1])
    raise ValueError(
        f"{function}: argument 'data_format' is {data_format!r}, expected "
        "'channels_last' or 'channels_first'"
    )


def from_channels_last(images: tf.Tensor, data_format: str) -> tf.Tensor:
    """Images [N, H, W, C] in `data_format`."""
    if data_format == "channels_last":
        return images
    return tf.transpose(images, [0, 3, 1, 2])
