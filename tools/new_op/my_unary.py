"""MyUnary."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["my_unary"]


@op
def my_unary(x: TensorLike, name: str | None = None) -> tf.Tensor:
    """MyUnary: x^3, element by element.

    Gradient: 3 x^2 dy.

    Args:
      x: Tensor of type F and any shape.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.
    """
    return raw_ops.my_unary(x, name)


OPS = {
    "MyUnary": {
        "rule": "elementwise",
        "formula": (r"y = x^3", r"dx = 3 x^2 \, dy"),
        "reference": lambda np, x: x**3,
        "roundoffs": 16,
    },
    "MyUnaryGrad": {
        "reference": lambda np, gradients, x: gradients * (3 * x**2),
        "roundoffs": 16,
        "extremes": False,
    },
}
