# SPDX-License-Identifier: Apache-2.0
"""Clipping of many tensors together."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["ClipByGlobalNorm", "clip_by_global_norm"]

# The types of gradients that tf.gradients and tape.gradient return.
_Gradient: TypeAlias = TensorLike | tf.IndexedSlices | None


class ClipByGlobalNorm(NamedTuple):
    """Outputs of `clip_by_global_norm`."""

    clipped: list[tf.Tensor | tf.IndexedSlices | None]
    norm: tf.Tensor


@op
def clip_by_global_norm(
    values: Sequence[_Gradient], clip_norm: TensorLike, name: str | None = None
) -> ClipByGlobalNorm:
    """Scales tensors down together until the norm of all their elements is at
    most `clip_norm`.

    With norm = sqrt(sum of the squares of all values), each value is multiplied
    by min(1, clip_norm / norm). This is a drop-in for tf.clip_by_global_norm: a norm
    that is not finite makes all values NaN. Squares neither overflow nor vanish,
    because they are summed in double, and those of doubles in several ranges.

    Gradient: the exact derivative with respect to values and clip_norm, through
    both outputs; 0 through the norm where it is 0.

    Args:
      values: Tensors of one type F and any shapes, at least one. None is skipped.
        For tf.IndexedSlices the norm uses their values, including repeated indices.
      clip_norm: Scalar of the same type, at least 0; 0 makes all values 0,
        infinity clips nothing.
      name: Name for the op.

    Returns:
      clipped: A list of the scaled values; None where there was None.
      norm: Scalar of type F, the norm before clipping; infinite if it overflows the type.

    Raises:
      TypeError: `values` is not a sequence but a tensor or an iterator.
      ValueError: All values are None.
      tf.errors.InvalidArgumentError: `clip_norm` is not a scalar, is negative or is NaN.
        XLA cannot report the last two; compiled code then makes all values NaN.

    Source: R. Pascanu et al., "On the difficulty of training recurrent neural
    networks", ICML 2013.
    """
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise TypeError(
            f"clip_by_global_norm: argument 'values' is {values!r}, expected a list or "
            "tuple of tensors"
        )
    given = [value for value in values if value is not None]
    if not given:
        raise ValueError(
            "clip_by_global_norm: argument 'values' has no tensor in it, expected at "
            f"least one: {values!r}"
        )
    dense = [v.values if isinstance(v, tf.IndexedSlices) else v for v in given]
    clipped, norm = raw_ops.clip_by_global_norm(dense, clip_norm, name)
    rest = iter(clipped)
    result: list[tf.Tensor | tf.IndexedSlices | None] = []
    for value in values:
        if value is None:
            result.append(None)
        elif isinstance(value, tf.IndexedSlices):
            slices = next(rest), value.indices, value.dense_shape
            result.append(tf.IndexedSlices(*slices))
        else:
            result.append(next(rest))
    return ClipByGlobalNorm(result, norm)
