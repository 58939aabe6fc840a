"""Ops that modify the gradient: identities and straight-through estimators."""

from collections.abc import Sequence

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = [
    "clip_gradient",
    "reverse_gradient",
    "reverse_gradient_n",
    "round_straight_through",
    "scale_gradient",
    "sign_straight_through",
    "straight_through",
]


@op
def sign_straight_through(x: TensorLike, clip: float = 1.0, name: str | None = None) -> tf.Tensor:
    """Sign with the straight-through gradient: -1, 0 or 1.

    Gradient: dy where abs(x) <= clip, else 0, the derivative of
    min(max(x, -clip), clip).

    Args:
      x: Tensor of type F and any shape.
      clip: The magnitude of x beyond which the gradient is 0; above 0.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Raises:
      tf.errors.InvalidArgumentError: `clip` is not above 0.

    Source: I. Hubara et al., "Binarized Neural Networks", NeurIPS 2016, eq. 4.
    """
    return raw_ops.sign_straight_through(x, clip, name)


@op
def round_straight_through(x: TensorLike, name: str | None = None) -> tf.Tensor:
    """Rounds to the nearest integer, half to even, with gradient dy.

    Args:
      x: Tensor of type F and any shape.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Source: Y. Bengio et al., "Estimating or Propagating Gradients Through
    Stochastic Neurons for Conditional Computation", arXiv:1308.3432.
    """
    return raw_ops.round_straight_through(x, name)


@op
def reverse_gradient(input: TensorLike, scale: float = 1.0, name: str | None = None) -> tf.Tensor:
    """Identity whose gradient is -scale * dy.

    Args:
      input: Tensor of type F and any shape.
      scale: Factor of the reversed gradient.
      name: Name for the op.

    Returns:
      `input`.

    Source: Y. Ganin and V. Lempitsky, "Unsupervised Domain Adaptation by
    Backpropagation", ICML 2015.
    """
    return raw_ops.reverse_gradient(input, scale, name)


@op
def reverse_gradient_n(
    inputs: Sequence[TensorLike], scale: float = 1.0, name: str | None = None
) -> list[tf.Tensor]:
    """`reverse_gradient` for several tensors of any types and shapes.

    Gradient: -scale * dy to tensors of a floating-point or complex type; none to
    the others.

    Args:
      inputs: Tensors, at least one.
      scale: Factor of the reversed gradients.
      name: Name for the op.

    Returns:
      A list of the inputs.

    Raises:
      tf.errors.InvalidArgumentError: `scale` is not finite.
    """
    return list(raw_ops.reverse_gradient_n(inputs, scale, name))


@op
def scale_gradient(input: TensorLike, scale: float, name: str | None = None) -> tf.Tensor:
    """Identity whose gradient is scale * dy.

    Args:
      input: Tensor of type F and any shape.
      scale: Factor of the gradient.
      name: Name for the op.

    Returns:
      `input`.
    """
    return raw_ops.scale_gradient(input, scale, name)


@op
def clip_gradient(input: TensorLike, min: float, max: float, name: str | None = None) -> tf.Tensor:
    """Identity whose gradient is dy clipped to [min, max].

    Args:
      input: Tensor of type F and any shape.
      min: Lower bound of the gradient.
      max: Upper bound of the gradient, at least `min`.
      name: Name for the op.

    Returns:
      `input`.

    Raises:
      tf.errors.InvalidArgumentError: `min` is above `max`.
    """
    return raw_ops.clip_gradient(input, min, max, name)


@op
def straight_through(
    value: TensorLike, surrogate: TensorLike, name: str | None = None
) -> tf.Tensor:
    """Returns `value`, bit for bit, with the gradient of `surrogate`.

    `surrogate + tf.stop_gradient(value - surrogate)` only approximates this.
    Gradient: none to value, dy to surrogate.

    Args:
      value: Tensor of type F and any shape.
      surrogate: Tensor of the same type and shape.
      name: Name for the op.

    Returns:
      `value`.

    Raises:
      tf.errors.InvalidArgumentError: The shapes differ.

    Source: Y. Bengio et al., "Estimating or Propagating Gradients Through
    Stochastic Neurons for Conditional Computation", arXiv:1308.3432.
    """
    return raw_ops.straight_through(value, surrogate, name)


OPS = {
    "ReverseGradient": {"rule": "elementwise", "formula": (r"y = x", r"dx = -s \, dy")},
    "ReverseGradientN": {"rule": "each_alone", "formula": (r"y_i = x_i", r"dx_i = -s \, dy_i")},
    "ScaleGradient": {"rule": "elementwise", "formula": (r"y = x", r"dx = s \, dy")},
    "Scale": {
        "rule": "elementwise",
        "formula": (r"y = a \, x", r"dx = a \, dy"),
        # Two roundings for the 16-bit types: to float, and to them.
        "reference": lambda np, x, factor: factor * x,
        "attributes": {"factor": -1.7},
        "roundoffs": 2,
    },
    "ClipGradient": {"rule": "elementwise", "formula": (r"y = x", r"dx = \min(\max(dy, l), u)")},
    "Clip": {
        "rule": "elementwise",
        "formula": (
            r"y = \min(\max(x, l), u)",
            r"dx = \begin{cases} dy & l \le x \le u \\ 0 & \text{else} \end{cases}",
        ),
        "reference": lambda np, x, min, max: np.clip(x, min, max),
        "attributes": {"min": -0.5, "max": 1.25},
    },
    "SignStraightThrough": {
        "rule": "elementwise",
        "formula": (
            r"y = \mathrm{sign}(x)",
            r"dx = \begin{cases} dy & |x| \le c \\ 0 & \text{else} \end{cases}",
        ),
        "reference": lambda np, x: np.sign(x),
    },
    "RoundStraightThrough": {
        "rule": "elementwise",
        "formula": (r"y = \mathrm{round}(x)", r"dx = dy"),
        "reference": lambda np, x: np.rint(x),
    },
    "StraightThrough": {"rule": "elementwise", "formula": (r"y = v", r"dv = 0, \quad ds = dy")},
    "ClipGrad": {
        "reference": lambda np, gradients, x, min, max: np.where(
            (x >= min) & (x <= max), gradients, 0
        ),
        "attributes": {"min": -0.5, "max": 1.25},
    },
    "SignStraightThroughGrad": {
        "reference": lambda np, gradients, x, clip: np.where(np.abs(x) <= clip, gradients, 0),
        "attributes": {"clip": 0.75},
    },
}
