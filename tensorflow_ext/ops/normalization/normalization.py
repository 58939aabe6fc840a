"""Normalization over the last dimension."""

from typing import NamedTuple

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize._rules import Output, Vectorized, call, tensors, widen, with_shared
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["LayerNorm", "RmsNorm", "layer_norm", "rms_norm"]


class LayerNorm(NamedTuple):
    """Outputs of `layer_norm`."""

    y: tf.Tensor
    mean: tf.Tensor
    inverse_stddev: tf.Tensor


class RmsNorm(NamedTuple):
    """Outputs of `rms_norm`."""

    y: tf.Tensor
    inverse_rms: tf.Tensor


def _input(x: TensorLike, scale: TensorLike) -> tuple[tf.Tensor, tf.DType]:
    """x as a tensor, and the type of its statistics."""
    tensor = tf.convert_to_tensor(x, dtype_hint=getattr(scale, "dtype", None))
    return tensor, tf.float64 if tensor.dtype == tf.float64 else tf.float32


@op
def layer_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    epsilon: float = 1e-5,
    name: str | None = None,
) -> LayerNorm:
    """Layer normalization over the last dimension.

    y = (x - mean) * inverse_stddev * scale + offset, where
    inverse_stddev = 1 / sqrt(variance + epsilon) and the variance is the biased
    one, mean((x - mean)**2).

    Gradient: to x, scale and offset, through all three outputs. Its sums over
    rows are bit-identical for any number of threads.

    Args:
      x: Tensor of type F and shape [..., D].
      scale: Tensor of the same type and shape [D].
      offset: Tensor of the same type and shape [D].
      epsilon: Added to the variance; finite and at least 0. With 0, a row of
        equal values gives NaN.
      name: Name for the op.

    Returns:
      y: Tensor of the type and shape of `x`.
      mean: Mean of each row, of shape [...]; float64 if `x` is, else float32.
      inverse_stddev: Reciprocal of each row's standard deviation, including epsilon;
        type and shape as `mean`.

    Raises:
      tf.errors.InvalidArgumentError: `x` is a scalar, `scale` or `offset` is not
        [D], or `epsilon` is negative, infinite or NaN.

    Source: J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer Normalization",
    arXiv:1607.06450.
    """
    x, statistics = _input(x, scale)
    return LayerNorm(*raw_ops.layer_norm(x, scale, offset, statistics, epsilon, name))


@op
def rms_norm(
    x: TensorLike, scale: TensorLike, epsilon: float = 1e-5, name: str | None = None
) -> RmsNorm:
    """Root mean square normalization over the last dimension.

    y = x * inverse_rms * scale, where
    inverse_rms = 1 / sqrt(mean(x**2) + epsilon).

    Gradient: to x and scale, through both outputs. Its sums over rows are
    bit-identical for any number of threads.

    Args:
      x: Tensor of type F and shape [..., D].
      scale: Tensor of the same type and shape [D].
      epsilon: Added to the mean square; finite and at least 0. With 0, a row of
        zeros gives NaN.
      name: Name for the op.

    Returns:
      y: Tensor of the type and shape of `x`.
      inverse_rms: Reciprocal of each row's root mean square, including epsilon, of
        shape [...]; float64 if `x` is, else float32.

    Raises:
      tf.errors.InvalidArgumentError: `x` is a scalar, `scale` is not [D], or
        `epsilon` is negative, infinite or NaN.

    Source: B. Zhang and R. Sennrich, "Root Mean Square Layer Normalization",
    NeurIPS 2019.
    """
    x, statistics = _input(x, scale)
    return RmsNorm(*raw_ops.rms_norm(x, scale, statistics, epsilon, name))


# Vectorized, one op runs the rows of all iterations. Multiplications by its parameters, and sums
# over the rows of an iteration, are separate ops.
def _with_parameters_of_each(vectorized: Vectorized) -> list[Output]:
    """The rule of layer_norm and rms_norm if scale or offset differs between iterations."""
    x, scale, *offset = vectorized.inputs
    wide = widen(x.t)
    ones = tf.ones(tf.shape(wide)[-1:], wide.dtype)
    zeros = [tf.zeros_like(ones)] * len(offset)
    normal, *statistics = call(vectorized, wide, ones, *zeros)
    y = normal * _along_rows(scale, x)
    for parameter in offset:
        y += _along_rows(parameter, x)
    return [
        pfor.wrap(tf.cast(y, x.t.dtype), True),
        *[pfor.wrap(statistic, x.is_stacked) for statistic in statistics],
    ]


def _vectorize_gradient(vectorized: Vectorized) -> list[Output]:
    """The rule of layer_norm_grad and rms_norm_grad. Their inputs are the gradients, those of
    the statistics, x, scale and the statistics: the mean (only for layer_norm) and the inverse."""
    last = vectorized.num_inputs - 1
    count = last // 2 - 1  # number of statistics
    has_mean = count == 2
    x, scale = count + 1, count + 2
    of_x = [x, *range(scale + 1, last + 1)]
    if any(vectorized.input(i).is_stacked for i in of_x):
        vectorized.stack_inputs(of_x)
    normal, *statistics = [widen(vectorized.input(i).t) for i in of_x]
    if has_mean:
        normal -= statistics[0][..., tf.newaxis]
    normal *= statistics[-1][..., tf.newaxis]

    vectorized.stack_inputs([i for i in range(last + 1) if i != scale])
    arguments = [widen(tensor) for tensor in tensors(vectorized)]
    gradients = arguments[0]
    arguments[0] *= _along_rows(vectorized.input(scale), vectorized.input(0))
    arguments[scale] = tf.ones(tf.shape(gradients)[-1:], gradients.dtype)
    outputs = [call(vectorized, *arguments)[0], _sum_rows(gradients * normal)]
    if has_mean:
        outputs.append(_sum_rows(gradients))
    dtype = vectorized.op.outputs[0].dtype
    return [pfor.wrap(tf.cast(output, dtype), True) for output in outputs]


def _along_rows(parameter: Output, rows: Output) -> tf.Tensor:
    """scale or offset so that it multiplies the rows of one or all iterations."""
    if not parameter.is_stacked:
        return widen(parameter.t)
    between = tf.rank(rows.t) - (2 if rows.is_stacked else 1)
    shape = tf.shape(parameter.t)
    shape = tf.concat([shape[:1], tf.ones([between], tf.int32), shape[1:]], axis=0)
    return tf.reshape(widen(parameter.t), shape)


def _sum_rows(stacked: tf.Tensor) -> tf.Tensor:
    """The sum over the rows of each iteration: [B, ..., D] as [B, D]."""
    return tf.reduce_sum(stacked, axis=tf.range(1, tf.rank(stacked) - 1))


OPS = {
    "LayerNorm": {
        "rule": with_shared(1, 2, otherwise=_with_parameters_of_each),
        "formula": (
            r"y = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} \, s + o",
            r"dx = r \left( d\hat{x} - \overline{d\hat{x}} - "
            r"\hat{x} \, \overline{d\hat{x} \, \hat{x}} \right), \quad "
            r"d\hat{x} = s \, dy",
            r"\hat{x} = r \, (x - \mu), \quad r = \frac{1}{\sqrt{\sigma^2 + \epsilon}}",
            r"ds = \sum dy \, \hat{x}, \quad do = \sum dy",
        ),
    },
    "LayerNormGrad": {"rule": _vectorize_gradient},
    "RmsNorm": {
        "rule": with_shared(1, otherwise=_with_parameters_of_each),
        "formula": (
            r"y = x \, r \, s, \quad r = \frac{1}{\sqrt{\overline{x^2} + \epsilon}}",
            r"dx = r \left( s \, dy - x \, r^2 \, \overline{s \, dy \, x} \right), \quad "
            r"ds = \sum dy \, x \, r",
        ),
    },
    "RmsNormGrad": {"rule": _vectorize_gradient},
}
