"""Sparsemax."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["sparsemax"]


@op
def sparsemax(logits: TensorLike, axis: int = -1, name: str | None = None) -> tf.Tensor:
    """Sparsemax: max(logits - t, 0), with t chosen so that it sums to 1 along `axis`.

    This is the point of the probability simplex that is nearest to the logits. Unlike
    softmax it gives exact zeros. On TensorFlow, keras.activations.sparsemax of Keras 3.15
    computes something else, which does not sum to 1.

    If the logits along the axis contain NaN or infinity, or are all -infinity, the whole
    result along it is NaN. -infinity beside finite logits gives 0.

    Gradient: where the result is positive, dy minus the mean of dy over these elements;
    elsewhere 0.

    Args:
      logits: Tensor of type F and shape [..., D], or with D at another axis.
      axis: The axis along which the result sums to 1; a negative axis counts from the
        last. For any axis but the last, `logits` and the result are transposed.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Raises:
      ValueError: `axis` is out of range for `logits`.
      tf.errors.InvalidArgumentError: `logits` is a scalar.

    Source: A. F. T. Martins and R. F. Astudillo, "From Softmax to Sparsemax: A Sparse
    Model of Attention and Multi-Label Classification", arXiv:1602.02068.
    """
    logits = tf.convert_to_tensor(logits)
    rank = logits.shape.rank
    if rank and not -rank <= axis < rank:
        raise ValueError(
            f"sparsemax: argument 'axis' is {axis}, expected {-rank} <= axis < {rank} "
            f"for 'logits' of rank {rank}"
        )
    if rank == 0 or axis == -1 or (rank is not None and axis == rank - 1):
        return raw_ops.sparsemax(logits, name)
    swapped = _with_last_axis(logits, axis)
    return tf.transpose(raw_ops.sparsemax(tf.transpose(logits, swapped), name), swapped)


def _with_last_axis(x: tf.Tensor, axis: int) -> list[int] | tf.Tensor:
    """The permutation that swaps an axis of x with the last one."""
    if x.shape.rank is not None:
        axes = list(range(x.shape.rank))
        axes[axis], axes[-1] = axes[-1], axes[axis]
        return axes
    rank = tf.rank(x)
    message = f"sparsemax: argument 'axis' is {axis}, expected an axis of 'logits' of rank"
    is_one = tf.debugging.Assert((-rank <= axis) & (axis < rank), [message, rank])
    with tf.control_dependencies([is_one]):
        ordered = tf.range(rank)
    last, place = rank - 1, axis if axis >= 0 else axis + rank
    return tf.where(ordered == place, last, tf.where(ordered == last, place, ordered))


OPS = {
    "Sparsemax": {
        "rule": "elementwise",
        "formula": (
            r"y_i = \max(x_i - t, 0), \quad \sum_i y_i = 1",
            r"dx_i = \begin{cases} dy_i - \frac{1}{|S|} \sum_{j \in S} dy_j & i \in S \\ "
            r"0 & \text{else} \end{cases}",
            r"S = \{ i : y_i > 0 \}",
        ),
    }
}
