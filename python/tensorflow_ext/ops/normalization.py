# SPDX-License-Identifier: Apache-2.0
"""Normalization over the last dimension."""

from typing import NamedTuple

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["LayerNorm", "RmsNorm", "layer_norm", "rms_norm"]


class LayerNorm(NamedTuple):
    """Outputs of `layer_norm`."""

    y: tf.Tensor
    mean: tf.Tensor
    inverse_stddev: tf.Tensor


class RmsNorm(NamedTuple):
    """Outputs of `rms_norm`."""

    y: tf.Tensor
    inverse_rms: tf.Tensor


def _input(x: TensorLike, scale: TensorLike) -> tuple[tf.Tensor, tf.DType]:
    """x as a tensor, and the type of its statistics."""
    tensor = tf.convert_to_tensor(x, dtype_hint=getattr(scale, "dtype", None))
    return tensor, tf.float64 if tensor.dtype == tf.float64 else tf.float32


@op
def layer_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    epsilon: float = 1e-5,
    name: str | None = None,
) -> LayerNorm:
    """Layer normalization over the last dimension.

    y = (x - mean) * inverse_stddev * scale + offset, where
    inverse_stddev = 1 / sqrt(variance + epsilon) and the variance is the biased
    one, mean((x - mean)**2).

    Gradient: to x, scale and offset, through all three outputs. Its sums over
    rows are bit-identical for any number of threads.

    Args:
      x: Tensor of type F and shape [..., D].
      scale: Tensor of the same type and shape [D].
      offset: Tensor of the same type and shape [D].
      epsilon: Added to the variance; finite and at least 0. With 0, a row of
        equal values gives NaN.
      name: Name for the op.

    Returns:
      y: Tensor of the type and shape of `x`.
      mean: Mean of each row, of shape [...]; float64 if `x` is, else float32.
      inverse_stddev: Reciprocal of each row's standard deviation, including epsilon;
        type and shape as `mean`.

    Raises:
      tf.errors.InvalidArgumentError: `x` is a scalar, `scale` or `offset` is not
        [D], or `epsilon` is negative, infinite or NaN.

    Source: J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer Normalization",
    arXiv:1607.06450.
    """
    x, statistics = _input(x, scale)
    return LayerNorm(*raw_ops.layer_norm(x, scale, offset, statistics, epsilon, name))


@op
def rms_norm(
    x: TensorLike, scale: TensorLike, epsilon: float = 1e-5, name: str | None = None
) -> RmsNorm:
    """Root mean square normalization over the last dimension.

    y = x * inverse_rms * scale, where
    inverse_rms = 1 / sqrt(mean(x**2) + epsilon).

    Gradient: to x and scale, through both outputs. Its sums over rows are
    bit-identical for any number of threads.

    Args:
      x: Tensor of type F and shape [..., D].
      scale: Tensor of the same type and shape [D].
      epsilon: Added to the mean square; finite and at least 0. With 0, a row of
        zeros gives NaN.
      name: Name for the op.

    Returns:
      y: Tensor of the type and shape of `x`.
      inverse_rms: Reciprocal of each row's root mean square, including epsilon, of
        shape [...]; float64 if `x` is, else float32.

    Raises:
      tf.errors.InvalidArgumentError: `x` is a scalar, `scale` is not [D], or
        `epsilon` is negative, infinite or NaN.

    Source: B. Zhang and R. Sennrich, "Root Mean Square Layer Normalization",
    NeurIPS 2019.
    """
    x, statistics = _input(x, scale)
    return RmsNorm(*raw_ops.rms_norm(x, scale, statistics, epsilon, name))
