# SPDX-License-Identifier: Apache-2.0
"""A case: an op with inputs and with stock ops that have the same value and the
same gradient by definition."""

import dataclasses
from collections.abc import Callable

import numpy as np
import tensorflow as tf

Function = Callable[..., tf.Tensor]


@dataclasses.dataclass(frozen=True)
class Case:
    """One op. The gradient of the inputs in `none` is None."""

    name: str
    function: Function
    reference: Function
    inputs: tuple[np.ndarray, ...]
    none: tuple[int, ...] = ()
    # Whether tf.vectorized_map gives the same bits as a loop.
    exact: bool = True
    # Whether the inputs may have any shape that they have in common.
    any_shape: bool = True

    def tensors(self, dtype: tf.DType = tf.float64) -> list[tf.Tensor]:
        return [tf.constant(value, dtype) for value in self.inputs]


def apart(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Distinct values of both signs, no two closer than 0.01 and none closer to
    a multiple of 0.25 than 0.005: away from every kink of the ops."""
    count = int(np.prod(shape))
    values = (np.arange(count) - count // 2) * 0.0625 + 0.03125
    return np.random.default_rng(seed).permutation(values).reshape(shape)


def with_value(surrogate: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    return surrogate + tf.stop_gradient(value - surrogate)


def upstream(like: tf.Tensor, seed: int = 3) -> tf.Tensor:
    """A random upstream gradient in the shape of `like`."""
    values = np.random.default_rng(seed).normal(size=like.shape)
    return tf.constant(values, like.dtype)
