"""MyBinary."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["my_binary"]


@op
def my_binary(x: TensorLike, y: TensorLike, name: str | None = None) -> tf.Tensor:
    """MyBinary: x^2 y^2, element by element.

    Gradient: 2 x y^2 dz and 2 x^2 y dz, each summed to its input's shape.

    Args:
      x: Tensor of type F and any shape.
      y: Tensor of the same type, of a shape that broadcasts with that of x.
      name: Name for the op.

    Returns:
      Tensor of the same type and the broadcast shape.

    Raises:
      tf.errors.InvalidArgumentError: The shapes do not broadcast.
    """
    return raw_ops.my_binary(x, y, name)


OPS = {
    "MyBinary": {
        "rule": "broadcasting",
        "formula": (r"z = x^2 y^2", r"dx = 2 x y^2 \, dz, \quad dy = 2 x^2 y \, dz"),
        "reference": lambda np, x, y: x**2 * y**2,
        "roundoffs": 16,
        "extremes": False,
    },
    "MyBinaryGrad": {
        "reference": lambda np, gradients, x, y: (
            gradients * (2 * x * y**2),
            gradients * (2 * x**2 * y),
        ),
        "roundoffs": 16,
        "extremes": False,
    },
}
