"""Helpers of the functions of ops."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy.typing as npt
import tensorflow as tf
from tensorflow.python.autograph.impl import api as autograph

# The types that tf.convert_to_tensor takes.
TensorLike: TypeAlias = tf.Tensor | tf.Variable | npt.ArrayLike

_Function = TypeVar("_Function", bound=Callable)


def op(function: _Function) -> _Function:
    """Tells AutoGraph that the function has no Python control flow to convert."""
    return autograph.autograph_artifact(function)


# Layouts of images. The kernels run along the channels of a pixel, which must be
# adjacent in memory, so channels-first images are transposed and the result back.
DATA_FORMATS = ("channels_last", "channels_first")


def channels_last(dimensions: Sequence[Any]) -> tuple[Any, ...]:
    """The dimensions of 'channels_first' in the order of 'channels_last'."""
    return (*dimensions[:1], *dimensions[2:], *dimensions[1:2])


def channels_first(dimensions: Sequence[Any]) -> tuple[Any, ...]:
    """The dimensions of 'channels_last' in the order of 'channels_first'."""
    if len(dimensions) < 2:
        return tuple(dimensions)
    return (dimensions[0], dimensions[-1], *dimensions[1:-1])


def transpose(x: TensorLike, order: Callable[[Sequence[Any]], Any]) -> tf.Tensor:
    """`x` with its dimensions in another order. An unknown rank counts as 4, for images."""
    x = tf.convert_to_tensor(x)
    return tf.transpose(x, order(range(4 if x.shape.rank is None else x.shape.rank)))
