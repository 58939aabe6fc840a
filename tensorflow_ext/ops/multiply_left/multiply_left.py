"""A product whose gradient flows to the left factor only."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["multiply_left"]


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


OPS = {
    "MultiplyLeft": {
        "rule": "broadcasting",
        "formula": (r"z = x \, y", r"dx = y \, dz"),
        "reference": lambda np, x, y: np.multiply(x, y),
        "roundoffs": 2,
    }
}
