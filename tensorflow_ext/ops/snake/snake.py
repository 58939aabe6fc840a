"""Snake."""

from typing import Any

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["snake"]


@op
def snake(x: TensorLike, frequency: TensorLike = 1.0, name: str | None = None) -> tf.Tensor:
    """Snake: x + sin(f x)^2 / f with the frequency f.

    There is no cancellation where f x is small; where f is 0 the result is x.

    Gradient: 1 + sin(2 f x) to x and x sin(2 f x) / f - sin(f x)^2 / f^2 to the
    frequency, in one pass, each summed to its input's shape.

    Args:
      x: Tensor of type F and any shape.
      frequency: Number, or tensor of a shape that broadcasts with that of x; cast to
        x's type. Use one for all elements or one for each channel. It may be trained.
      name: Name for the op.

    Returns:
      Tensor of x's type and the broadcast shape.

    Raises:
      tf.errors.InvalidArgumentError: The shapes do not broadcast.

    Source: L. Ziyin, T. Hartwig and M. Ueda, "Neural Networks Fail to Learn Periodic
    Functions and How to Fix It", arXiv:2006.08195.
    """
    x = tf.convert_to_tensor(x)
    return raw_ops.snake(x, tf.cast(frequency, x.dtype), name)


def _ratio(np: Any, x: Any, t: Any) -> Any:
    """sin(t) / f with t = f x, or x if t is 0."""
    return x * np.where(t == 0, 1, np.sin(t) / t)


def _value(np: Any, x: Any, frequency: Any) -> Any:
    t = frequency * x
    return x + np.where(np.isinf(t), 0, _ratio(np, x, t) * np.sin(t))


def _gradients(np: Any, gradients: Any, x: Any, frequency: Any) -> Any:
    t = frequency * x
    ratio = _ratio(np, x, t)
    by_x = (np.sin(t) + np.cos(t)) ** 2
    return gradients * by_x, gradients * ratio * (2 * x * np.cos(t) - ratio)


OPS = {
    "Snake": {
        "rule": "broadcasting",
        "formula": (
            r"y = x + \frac{\sin^2(f x)}{f}",
            r"dx = dy \left( 1 + \sin(2 f x) \right)",
            r"df = dy \, \frac{f x \sin(2 f x) - \sin^2(f x)}{f^2}",
        ),
        "reference": _value,
        "stock": lambda x, frequency: x + tf.sin(frequency * x) ** 2 / frequency,
        "roundoffs": 24,
        "registers": 48,
    },
    "SnakeGrad": {
        "reference": _gradients,
        "roundoffs": 24,
        "extremes": False,
        # Both are sums, and change with the roundoff of f x.
        "slack": lambda np, gradients, x, frequency: np.abs(
            gradients
            * (8 + 4 * np.abs(frequency * x))
            * np.stack(np.broadcast_arrays(1, x * x + 0 * frequency))
        ),
        "registers": 56,
    },
}
