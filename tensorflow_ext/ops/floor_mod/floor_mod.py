"""The floored remainder."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["floor_mod"]


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


OPS = {
    "FloorMod": {
        "rule": "broadcasting",
        "formula": (
            r"z = x - \left\lfloor \frac{x}{y} \right\rfloor y",
            r"dx = dz, \quad dy = -\left\lfloor \frac{x}{y} \right\rfloor dz",
        ),
        "reference": lambda np, x, y: np.mod(x, y),
        "integers": True,
        "roundoffs": 2,
        "registers": 40,
    },
    # x / y of extremes overflows in float, but not in float64.
    "FloorModGrad": {
        "reference": lambda np, gradients, x, y: -np.floor_divide(x, y) * gradients,
        "roundoffs": 4,
        "extremes": False,
        "registers": 48,
    },
}
