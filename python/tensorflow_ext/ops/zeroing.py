# SPDX-License-Identifier: Apache-2.0
"""The ops of TensorFlow's guide "Create an op"."""

from typing import NamedTuple

import tensorflow as tf

from tensorflow_ext import raw_ops
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
