# SPDX-License-Identifier: Apache-2.0
"""Sparse weights."""

from typing import Literal

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["prune_by_magnitude"]


@op
def prune_by_magnitude(
    weights: TensorLike,
    threshold: TensorLike,
    gradient: Literal["straight_through", "masked"] = "straight_through",
    name: str | None = None,
) -> tf.Tensor:
    """Sets weights to zero where abs(weights) < threshold; NaN stays NaN.

    Gradient: for 'straight_through' dy, so that pruned weights keep learning and may
    come back; for 'masked' dy where the weight was kept, else 0. None to threshold.

    Args:
      weights: Tensor of type F and any shape.
      threshold: Scalar of the same type, the least magnitude that is kept; 0 or
        less keeps all.
      gradient: How to treat the gradient of pruned weights.
      name: Name for the op.

    Returns:
      Tensor of the type and shape of `weights`.

    Raises:
      tf.errors.InvalidArgumentError: `threshold` is not a scalar or is NaN. XLA cannot
        report the latter; compiled code then makes all weights NaN.

    Source: S. Han et al., "Learning both Weights and Connections for Efficient
    Neural Networks", NIPS 2015.
    """
    return raw_ops.prune_by_magnitude(weights, threshold, gradient, name)
