"""Clipping of many tensors together."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize._rules import Output, Vectorized, align, tensors
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
      values: _Tensors of one type F and any shapes, at least one. None is skipped.
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


# Vectorized, each iteration has its norm, for per-example clipping. The rules use stock ops over
# the stacked tensors, with the arithmetic of the op.
_Tensors = Sequence[tf.Tensor]


def _dot(x: _Tensors, y: _Tensors) -> tf.Tensor:
    """The sum of all products in each iteration, [B]."""
    terms = []
    for a, b in zip(x, y, strict=True):
        axes = tf.range(1, tf.rank(a))
        terms.append(tf.reduce_sum(a * b, axes))
    return tf.add_n(terms)


def _norm(values: _Tensors) -> tf.Tensor:
    """The norm of each iteration, [B]; its derivative at 0 is 0."""
    largest = tf.stop_gradient(_largest(values))
    in_range = tf.where((largest > 0) & tf.math.is_finite(largest), largest, 1)
    scaled = [value / align(in_range, value) for value in values]
    square = _dot(scaled, scaled)
    is_zero = tf.equal(square, 0)
    root = tf.sqrt(tf.where(is_zero, tf.ones_like(square), square))
    return in_range * tf.where(is_zero, tf.zeros_like(root), root)


def _largest(values: _Tensors) -> tf.Tensor:
    """The largest magnitude in each iteration, [B]; 0 if there are no elements."""
    largest = [tf.reduce_max(tf.abs(value), tf.range(1, tf.rank(value))) for value in values]
    return tf.maximum(tf.reduce_max(tf.stack(largest), axis=0), 0)


def _scale(norm: tf.Tensor, clip_norm: tf.Tensor) -> tf.Tensor:
    is_clipped = norm > clip_norm
    above = tf.where(is_clipped, norm, tf.ones_like(norm))
    scale = tf.where(is_clipped, clip_norm / above, tf.ones_like(norm))
    return scale + (norm - norm)  # NaN if the norm is not finite


def _wide(vectorized: Vectorized) -> list[tf.Tensor]:
    """All inputs, stacked, in double."""
    vectorized.stack_inputs()
    return [tf.cast(tensor, tf.float64) for tensor in tensors(vectorized)]


def _outputs(vectorized: Vectorized, wide: _Tensors) -> list[Output]:
    dtype = vectorized.op.inputs[0].dtype
    return [pfor.wrap(tf.cast(tensor, dtype), True) for tensor in wide]


def _vectorize(vectorized: Vectorized) -> list[Output]:
    *values, clip_norm = _wide(vectorized)
    norm = _norm(values)
    scale = _scale(norm, clip_norm)
    clipped = [value * align(scale, value) for value in values]
    return _outputs(vectorized, [*clipped, norm])


def _vectorize_grad(vectorized: Vectorized) -> list[Output]:
    """The rule of the gradient op, by the formula in the op's documentation."""
    inputs = _wide(vectorized)
    count = len(inputs) // 2 - 1
    gradients, norm_gradient = inputs[:count], inputs[count]
    values, clip_norm = inputs[count + 1 : -1], inputs[-1]
    norm = _norm(values)
    scale = _scale(norm, clip_norm)
    inverse = tf.math.divide_no_nan(tf.ones_like(norm), norm)
    units = [value * align(inverse, value) for value in values]
    of_clip_norm = tf.where(norm > clip_norm, _dot(gradients, units), 0)
    of_norm = (norm_gradient - scale * of_clip_norm) * (1 + (norm - norm))
    backprops = [
        align(scale, g) * g + align(of_norm, u) * u for g, u in zip(gradients, units, strict=True)
    ]
    return _outputs(vectorized, [*backprops, of_clip_norm + (norm - norm)])


OPS = {
    "ClipByGlobalNorm": {
        "rule": _vectorize,
        "formula": (
            r"y_i = x_i \min\left( 1, \frac{c}{n} \right), \quad "
            r"n = \sqrt{\sum_i \|x_i\|^2}",
            r"dx_i = \frac{c}{n} \left( dy_i - \frac{x_i}{n^2} "
            r"\sum_j x_j \cdot dy_j \right) \quad \text{where } n > c",
            r"dc = \frac{1}{n} \sum_j x_j \cdot dy_j \quad \text{where } n > c",
        ),
    },
    "ClipByGlobalNormGrad": {"rule": _vectorize_grad},
}
