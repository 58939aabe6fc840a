# SPDX-License-Identifier: Apache-2.0
"""The slopes of Rrelu, in NumPy."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

Words = tuple[np.ndarray, np.ndarray]


def _threefry(key: Words, counter: Words) -> Words:
    """Threefry-2x32 with 20 rounds."""
    keys = [*key, key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    first, second = counter[0] + keys[0], counter[1] + keys[1]
    rotations = (13, 15, 26, 6), (17, 29, 16, 24)
    for group in range(5):
        for bits in rotations[group % 2]:
            first = first + second
            second = (second << np.uint32(bits)) | (second >> np.uint32(32 - bits))
            second = second ^ first
        first = first + keys[(group + 1) % 3]
        second = second + keys[(group + 2) % 3] + np.uint32(group + 1)
    return first, second


def _halves(numbers: np.ndarray) -> Words:
    """The lower and the upper 32 bits."""
    return numbers.astype(np.uint32), (numbers >> 32).astype(np.uint32)


def uniform(seed: Sequence[int], count: int, dtype: tf.DType) -> np.ndarray:
    """The first numbers in [0, 1) of a seed, as float64."""
    (lower, upper) = _halves(np.array(seed, np.int64))
    key = _threefry((lower[:1], lower[1:]), (upper[:1], upper[1:]))
    indices = np.arange(count, dtype=np.int64)

    def words(upper_bit: int) -> np.ndarray:
        lower, upper = _halves(indices // 2)
        first, second = _threefry(key, (lower, upper | np.uint32(upper_bit)))
        return np.where(indices % 2, second, first)

    if dtype == tf.float64:
        return (words(0) >> 5) * 2.0**-27 + (words(1 << 31) >> 6) * 2.0**-53
    return (words(0) >> 8) * 2.0**-24


def rrelu(x: tf.Tensor, seed: Sequence[int], lower: float, upper: float) -> tf.Tensor:
    """tfe.rrelu in training, for bounds that a float holds, up to rounding."""
    drawn = uniform(seed, x.shape.num_elements(), x.dtype)
    slopes = tf.constant(lower + (upper - lower) * drawn, x.dtype, x.shape)
    return tf.where(x >= 0, x, slopes * x)
