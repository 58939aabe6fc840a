"""The ops of TensorFlow's guide "Create an op"."""

from typing import NamedTuple

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize._rules import Output, Vectorized
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["ZeroOutWithIndex", "zero_out", "zero_out_with_index"]


class ZeroOutWithIndex(NamedTuple):
    """Outputs of `zero_out_with_index`."""

    zeroed: tf.Tensor
    index: tf.Tensor


@op
def zero_out(to_zero: TensorLike, name: str | None = None) -> tf.Tensor:
    """Keeps the first element, in flat order, and makes the rest zero.

    Gradient: dy's first element, the rest zero; none for integers.

    Args:
      to_zero: Tensor of type F, int32 or int64 and any shape.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Source: the example of TensorFlow's guide "Create an op".
    """
    return raw_ops.zero_out(to_zero, name)


@op
def zero_out_with_index(to_zero: TensorLike, name: str | None = None) -> ZeroOutWithIndex:
    """Like `zero_out`, but also returns which element it kept.

    Gradient: as for `zero_out`; the index has none.

    Args:
      to_zero: Tensor of type F, int32 or int64 and any shape.
      name: Name for the op.

    Returns:
      zeroed: Tensor of the same type and shape.
      index: int32 tensor of shape [1] that holds the flat index 0, or of shape
        [0] when `to_zero` is empty.
    """
    return ZeroOutWithIndex(*raw_ops.zero_out_with_index(to_zero, name))


# Vectorized, each iteration keeps its own first element.
def _vectorize(vectorized: Vectorized) -> Output:
    zeroed, _ = _keep_first(vectorized.stacked_input(0))
    return pfor.wrap(zeroed, True)


def _vectorize_with_index(vectorized: Vectorized) -> list[Output]:
    zeroed, kept = _keep_first(vectorized.stacked_input(0))
    index = tf.zeros(kept, tf.int32)
    return [pfor.wrap(zeroed, True), pfor.wrap(index, True)]


def _keep_first(stacked: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Zeros all but the first element of each iteration. Also returns the shape of the kept
    elements: [B, 1], or [B, 0] if iterations are empty."""
    shape = tf.shape(stacked)
    rows = tf.reshape(stacked, [shape[0], tf.reduce_prod(shape[1:])])
    first = rows[:, :1]
    zeroed = tf.concat([first, tf.zeros_like(rows[:, 1:])], axis=1)
    zeroed = tf.reshape(zeroed, shape)
    zeroed.set_shape(stacked.shape)
    return zeroed, tf.shape(first)


OPS = {
    "ZeroOut": {
        "rule": _vectorize,
        "formula": (
            r"y_i = \begin{cases} x_i & i = 0 \\ 0 & \text{else} \end{cases}",
            r"dx_i = \begin{cases} dy_i & i = 0 \\ 0 & \text{else} \end{cases}",
        ),
    },
    "ZeroOutWithIndex": {
        "rule": _vectorize_with_index,
        "formula": (
            r"y_i = \begin{cases} x_i & i = 0 \\ 0 & \text{else} \end{cases}",
            r"dx_i = \begin{cases} dy_i & i = 0 \\ 0 & \text{else} \end{cases}",
        ),
    },
}
