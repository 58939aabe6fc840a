# SPDX-License-Identifier: Apache-2.0
"""Binary arithmetic with broadcasting."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["floor_mod", "multiply_left"]


@op
def floor_mod(x: TensorLike, y: TensorLike, name: str | None = None) -> tf.Tensor:
    """Remainder of floored division, like numpy.mod; it has the sign of y.

    Gradient: dy to x and -floor(x / y) * dy to y, each summed to its input's
    shape; none for integers.

    Args:
      x: Tensor of type F, int32 or int64.
      y: Tensor of the same type, of a shape that broadcasts with that of x.
      name: Name for the op.

    Returns:
      Tensor of the same type and the broadcast shape.

    Raises:
      tf.errors.InvalidArgumentError: The shapes do not broadcast, or an integer
        is divided by 0 (on the CPU; elsewhere that element is 0).
    """
    return raw_ops.floor_mod(x, y, name)


@op
def multiply_left(x: TensorLike, y: TensorLike, name: str | None = None) -> tf.Tensor:
    """x * y, with a gradient for x only.

    Gradient: y * dy to x, summed to the shape of x; none to y.

    Args:
      x: Tensor of type F.
      y: Tensor of the same type, of a shape that broadcasts with that of x.
      name: Name for the op.

    Returns:
      Tensor of the same type and the broadcast shape.

    Raises:
      tf.errors.InvalidArgumentError: The shapes do not broadcast.
    """
    return raw_ops.multiply_left(x, y, name)
