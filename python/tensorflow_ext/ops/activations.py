# SPDX-License-Identifier: Apache-2.0
"""Activation functions."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = [
    "gelu",
    "hardshrink",
    "lisht",
    "mish",
    "relu",
    "snake",
    "softshrink",
    "sparsemax",
    "swiglu",
    "tanhshrink",
]


@op
def relu(features: TensorLike, name: str | None = None) -> tf.Tensor:
    """Rectified linear unit: max(features, 0).

    Gradient: dy where features > 0, else 0 (also where features is NaN).

    Args:
      features: Tensor of type F and any shape.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Source: V. Nair and G. E. Hinton, "Rectified Linear Units Improve Restricted
    Boltzmann Machines", ICML 2010.
    """
    return raw_ops.relu(features, name)


@op
def gelu(x: TensorLike, approximate: bool = True, name: str | None = None) -> tf.Tensor:
    """Gaussian error linear unit: x P(X <= x) for a standard normal X.

    Infinity gives the limit, which is 0 at -infinity. The exact form keeps its
    relative accuracy where x is negative.

    Gradient: P(X <= x) + x p(x) with the density p, or the derivative of the
    approximate form.

    Args:
      x: Tensor of type F and any shape.
      approximate: Whether to approximate P(X <= x) by
        (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Source: D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units (GELUs)",
    arXiv:1606.08415.
    """
    return raw_ops.gelu(x, approximate, name)


@op
def swiglu(gate: TensorLike, value: TensorLike, name: str | None = None) -> tf.Tensor:
    """Linear unit gated by SiLU: gate * sigmoid(gate) * value.

    An infinite gate gives the limit: -infinity closes the gate.

    Gradient: to both inputs, in one pass.

    Args:
      gate: Tensor of type F and any shape.
      value: Tensor of the same type and shape; there is no broadcasting.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Source: N. Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202.
    """
    return raw_ops.swi_glu(gate, value, name)


@op
def mish(x: TensorLike, name: str | None = None) -> tf.Tensor:
    """Mish activation: x tanh(softplus(x)) = x tanh(log(1 + e^x)).

    Infinity gives the limit, which is 0 at -infinity.

    Gradient: t + x (1 - t^2) sigmoid(x) with t = tanh(softplus(x)).

    Args:
      x: Tensor of type F and any shape.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Source: D. Misra, "Mish: A Self Regularized Non-Monotonic Activation
    Function", BMVC 2020.
    """
    return raw_ops.mish(x, name)


@op
def lisht(x: TensorLike, name: str | None = None) -> tf.Tensor:
    """Linearly scaled hyperbolic tangent: x tanh(x).

    Gradient: tanh(x) + x (1 - tanh(x)^2).

    Args:
      x: Tensor of type F and any shape.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Source: S. K. Roy, S. Manna, S. R. Dubey and B. B. Chaudhuri, "LiSHT:
    Non-Parametric Linearly Scaled Hyperbolic Tangent Activation Function for
    Neural Networks", CVIP 2022.
    """
    return raw_ops.lisht(x, name)


@op
def tanhshrink(x: TensorLike, name: str | None = None) -> tf.Tensor:
    """Tanh shrinkage: x - tanh(x).

    The result is accurate near 0 too, where a plain difference has no correct digit.

    Gradient: tanh(x)^2.

    Args:
      x: Tensor of type F and any shape.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Source: R. Collobert, K. Kavukcuoglu and C. Farabet, "Torch7: A Matlab-like
    Environment for Machine Learning", BigLearn 2011: nn.TanhShrink.
    """
    return raw_ops.tanhshrink(x, name)


@op
def hardshrink(
    x: TensorLike, lower: float = -0.5, upper: float = 0.5, name: str | None = None
) -> tf.Tensor:
    """Hard shrinkage: x where x < lower or x > upper, else 0.

    Gradient: dy where x was kept (also where x is NaN), else 0.

    Args:
      x: Tensor of type F and any shape.
      lower: Lower bound; may be -infinity.
      upper: Upper bound, >= lower; may be infinity.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Source: D. L. Donoho and I. M. Johnstone, "Ideal spatial adaptation by wavelet
    shrinkage", Biometrika 81, 1994, with a bound for each sign.
    """
    return raw_ops.hardshrink(x, lower, upper, name)


@op
def softshrink(
    x: TensorLike, lower: float = -0.5, upper: float = 0.5, name: str | None = None
) -> tf.Tensor:
    """Soft shrinkage: x - lower where x < lower, x - upper where x > upper, else 0.

    Gradient: dy where x is outside [lower, upper] (also where x is NaN), else 0.

    Args:
      x: Tensor of type F and any shape.
      lower: Lower bound; may be -infinity.
      upper: Upper bound, >= lower; may be infinity.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Source: D. L. Donoho and I. M. Johnstone, "Ideal spatial adaptation by wavelet
    shrinkage", Biometrika 81, 1994, with a bound for each sign.
    """
    return raw_ops.softshrink(x, lower, upper, name)


@op
def snake(x: TensorLike, frequency: TensorLike = 1.0, name: str | None = None) -> tf.Tensor:
    """Snake: x + sin(f x)^2 / f with the frequency f.

    There is no cancellation where f x is small; where f is 0 the result is x.

    Gradient: 1 + sin(2 f x) to x and x sin(2 f x) / f - sin(f x)^2 / f^2 to the
    frequency, in one pass, each summed to its input's shape.

    Args:
      x: Tensor of type F and any shape.
      frequency: Number, or tensor of a shape that broadcasts with that of x; cast to
        x's type. Use one for all elements or one for each channel. It may be trained.
      name: Name for the op.

    Returns:
      Tensor of x's type and the broadcast shape.

    Raises:
      tf.errors.InvalidArgumentError: The shapes do not broadcast.

    Source: L. Ziyin, T. Hartwig and M. Ueda, "Neural Networks Fail to Learn Periodic
    Functions and How to Fix It", arXiv:2006.08195.
    """
    x = tf.convert_to_tensor(x)
    return raw_ops.snake(x, tf.cast(frequency, x.dtype), name)


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
