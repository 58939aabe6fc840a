"""Sparse weights."""

from typing import Literal

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize._rules import Output, Vectorized, align, tensors, with_shared
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


# Vectorized with a threshold for each iteration, the ops are stock ops with the same gradient.
def _with_thresholds(vectorized: Vectorized) -> Output:
    vectorized.stack_inputs()
    weights, thresholds = tensors(vectorized)
    pruned = _prune(weights, weights, thresholds)
    if vectorized.op.get_attr("gradient") == b"straight_through":
        pruned = raw_ops.straight_through(pruned, weights)
    return pfor.wrap(pruned, True)


def _gradient_with_thresholds(vectorized: Vectorized) -> Output:
    vectorized.stack_inputs()
    return pfor.wrap(_prune(*tensors(vectorized)), True)


def _prune(values: tf.Tensor, weights: tf.Tensor, thresholds: tf.Tensor) -> tf.Tensor:
    """`values` where the weights of an iteration reach its threshold, else 0."""
    is_pruned = tf.abs(weights) < align(thresholds, like=weights)
    return tf.where(is_pruned, tf.zeros_like(values), values)


OPS = {
    "PruneByMagnitude": {
        "rule": with_shared(1, otherwise=_with_thresholds),
        "formula": (
            r"y = \begin{cases} w & |w| \ge t \\ 0 & \text{else} \end{cases}",
            r"dw = dy \quad \text{or} \quad "
            r"dw = \begin{cases} dy & |w| \ge t \\ 0 & \text{else} \end{cases}",
        ),
    },
    "PruneByMagnitudeGrad": {"rule": with_shared(2, otherwise=_gradient_with_thresholds)},
}
