# SPDX-License-Identifier: Apache-2.0
"""ClipByGlobalNorm with a norm for each iteration, for per-example clipping. It uses stock
ops over the stacked tensors, with the arithmetic of the op."""

from collections.abc import Sequence

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._rules import Output, Vectorized, align, tensors

Tensors = Sequence[tf.Tensor]


def _dot(x: Tensors, y: Tensors) -> tf.Tensor:
    """The sum of all products in each iteration, [B]."""
    terms = []
    for a, b in zip(x, y, strict=True):
        axes = tf.range(1, tf.rank(a))
        terms.append(tf.reduce_sum(a * b, axes))
    return tf.add_n(terms)


def _norm(values: Tensors) -> tf.Tensor:
    """The norm of each iteration, [B]; its derivative at 0 is 0."""
    largest = tf.stop_gradient(_largest(values))
    in_range = tf.where((largest > 0) & tf.math.is_finite(largest), largest, 1)
    scaled = [value / align(in_range, value) for value in values]
    square = _dot(scaled, scaled)
    is_zero = tf.equal(square, 0)
    root = tf.sqrt(tf.where(is_zero, tf.ones_like(square), square))
    return in_range * tf.where(is_zero, tf.zeros_like(root), root)


def _largest(values: Tensors) -> tf.Tensor:
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


def _outputs(vectorized: Vectorized, wide: Tensors) -> list[Output]:
    dtype = vectorized.op.inputs[0].dtype
    return [pfor.wrap(tf.cast(tensor, dtype), True) for tensor in wide]


def clip_by_global_norm(vectorized: Vectorized) -> list[Output]:
    *values, clip_norm = _wide(vectorized)
    norm = _norm(values)
    scale = _scale(norm, clip_norm)
    clipped = [value * align(scale, value) for value in values]
    return _outputs(vectorized, [*clipped, norm])


def clip_by_global_norm_grad(vectorized: Vectorized) -> list[Output]:
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
