# SPDX-License-Identifier: Apache-2.0
"""Activation functions."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["gelu", "hardshrink", "lisht", "mish", "relu", "softshrink", "swiglu", "tanhshrink"]


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


OPS = {
    "Relu": {
        "rule": "elementwise",
        "formula": (
            r"y = \max(x, 0)",
            r"dx = \begin{cases} dy & x > 0 \\ 0 & \text{else} \end{cases}",
        ),
    },
    "Gelu": {
        "rule": "elementwise",
        "formula": (
            r"y = x \, \Phi(x)",
            r"\Phi(x) \approx \frac{1}{2} \left( 1 + \tanh\left( \sqrt{\frac{2}{\pi}} "
            r"\left( x + 0.044715 \, x^3 \right) \right) \right)",
            r"dx = dy \left( \Phi(x) + x \, \Phi'(x) \right)",
        ),
    },
    "SwiGlu": {
        "rule": "elementwise",
        "formula": (
            r"y = g \, \sigma(g) \, v, \quad \sigma(g) = \frac{1}{1 + e^{-g}}",
            r"dg = dy \, v \, \sigma(g) \left( 1 + g \left( 1 - \sigma(g) \right) \right)",
            r"dv = dy \, g \, \sigma(g)",
        ),
    },
    "Mish": {
        "rule": "elementwise",
        "formula": (
            r"y = x \tanh(s), \quad s = \log\left( 1 + e^x \right)",
            r"dx = dy \left( \tanh(s) + x \, \sigma(x) "
            r"\left( 1 - \tanh^2(s) \right) \right)",
        ),
    },
    "Lisht": {
        "rule": "elementwise",
        "formula": (
            r"y = x \tanh(x)",
            r"dx = dy \left( \tanh(x) + x \left( 1 - \tanh^2(x) \right) \right)",
        ),
    },
    "Tanhshrink": {"rule": "elementwise", "formula": (r"y = x - \tanh(x)", r"dx = dy \tanh^2(x)")},
    "Hardshrink": {
        "rule": "elementwise",
        "formula": (
            r"y = \begin{cases} x & x < l \text{ or } x > u \\ 0 & \text{else} \end{cases}",
            r"dx = \begin{cases} dy & x < l \text{ or } x > u \\ 0 & \text{else} "
            r"\end{cases}",
        ),
    },
    "Softshrink": {
        "rule": "elementwise",
        "formula": (
            r"y = \begin{cases} x - l & x < l \\ x - u & x > u \\ 0 & \text{else} "
            r"\end{cases}",
            r"dx = \begin{cases} dy & x < l \text{ or } x > u \\ 0 & \text{else} "
            r"\end{cases}",
        ),
    },
}
