"""Sums of the rows of a table."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize._batches import Role, batched
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["embedding_bag"]


@op
def embedding_bag(
    indices: TensorLike,
    params: TensorLike,
    weights: TensorLike | None = None,
    combiner: str = "sum",
    name: str | None = None,
) -> tf.Tensor:
    """Weighted sum of the rows of a table that each bag of indices names.

    output[b] is the sum over l of weights[b, l] * params[indices[b, l]]. With
    combiner 'mean' it is divided by L, the number of indices in a bag. An empty bag
    gives 0. The rows are never gathered into memory: neither the op nor its gradient
    needs memory that grows with B * L * E.

    Gradient: to params, as a tensor of its shape, and to weights. On a GPU, the order
    in which it adds up the positions that name a row is fixed only under
    tf.config.experimental.enable_op_determinism().

    Args:
      indices: Rows of `params`, int32 or int64 [B, L]. An index may occur repeatedly.
      params: Table of type F and shape [V, E].
      weights: Weight of each index, of the same type and shape [B, L]; None for 1.
      combiner: 'sum', or 'mean' to divide by L; also in upper case.
      name: Name for the op.

    Returns:
      Tensor of type F and shape [B, E].

    Raises:
      ValueError: The combiner is neither of the two.
      tf.errors.InvalidArgumentError: A rank or a shape is wrong, or an index is out of
        range (on the CPU; other devices ignore such an index).

    Source: TensorFlow Addons' EmbeddingBag, and PyTorch's torch.nn.EmbeddingBag.
    """
    if not isinstance(combiner, str) or combiner.lower() not in ("sum", "mean"):
        raise ValueError(
            f"embedding_bag: argument 'combiner' is {combiner!r}, expected 'sum' or 'mean'"
        )
    if weights is None:
        params = tf.convert_to_tensor(params)
        weights = tf.ones_like(indices, params.dtype)
    return raw_ops.embedding_bag(indices, params, weights, combiner.lower(), name)


OPS = {
    "EmbeddingBag": {
        "rule": batched(Role.INDICES, Role.TABLE, Role.ROWS),
        "formula": (
            r"y_b = \sum_l w_{b,l} \, P_{i_{b,l}}",
            r"dP_v = \sum_{b,l \, : \, i_{b,l} = v} w_{b,l} \, dy_b, \quad "
            r"dw_{b,l} = P_{i_{b,l}} \cdot dy_b",
        ),
    },
    "EmbeddingBagParamsGrad": {"rule": batched(Role.ROWS, Role.INDICES, Role.TABLES, Role.ROWS)},
    "EmbeddingBagWeightsGrad": {"rule": batched(Role.ROWS, Role.INDICES, Role.TABLE)},
}
