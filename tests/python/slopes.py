"""The slopes of Rrelu, in NumPy."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
import threefry


def uniform(seed: Sequence[int], count: int, dtype: tf.DType) -> np.ndarray:
    """The first numbers in [0, 1) of a seed, as float64."""
    (lower, upper) = threefry.halves(np.array(seed, np.int64))
    key = threefry.threefry((lower[:1], lower[1:]), (upper[:1], upper[1:]))
    return threefry.uniform(key, np.arange(count), dtype == tf.float64)


def rrelu(x: tf.Tensor, seed: Sequence[int], lower: float, upper: float) -> tf.Tensor:
    """tfe.rrelu in training, for bounds that a float holds, up to rounding."""
    drawn = uniform(seed, x.shape.num_elements(), x.dtype)
    slopes = tf.constant(lower + (upper - lower) * drawn, x.dtype, x.shape)
    return tf.where(x >= 0, x, slopes * x)
