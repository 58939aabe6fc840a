"""Activation functions."""

import math
from typing import Any

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


# The references. An infinite argument gives the limit. Beyond _FAR, the functions are 0 or x in
# float64, and their derivatives constant.
_FAR = 800.0
_CUBIC = 0.044715


def _near(np: Any, x: Any) -> Any:
    return np.clip(x, -_FAR, _FAR)


def _gated(np: Any, x: Any, gate: Any) -> Any:
    """x times a gate that is 0 at -infinity."""
    return np.where(x < 0, _near(np, x), x) * gate


def _logistic(np: Any, x: Any) -> Any:
    decay = np.exp(-np.abs(x))
    return np.where(x < 0, decay, 1) / (1 + decay)


def _silu_slope(np: Any, x: Any) -> Any:
    s = _logistic(np, x)
    return s + _near(np, x) * s * _logistic(np, -x)


def _normal(np: Any, x: Any) -> Any:
    return np.vectorize(math.erfc, otypes=[float])(-_near(np, x) / math.sqrt(2)) / 2


def _cubic(np: Any, x: Any) -> Any:
    return 2 * math.sqrt(2 / math.pi) * (_near(np, x) + _CUBIC * _near(np, x) ** 3)


def _gelu(np: Any, x: Any, approximate: bool) -> Any:
    return _gated(np, x, _logistic(np, _cubic(np, x)) if approximate else _normal(np, x))


def _gelu_grad(np: Any, gradients: Any, x: Any, approximate: bool) -> Any:
    near = _near(np, x)
    if not approximate:
        density = np.exp(-(near**2) / 2) / math.sqrt(2 * math.pi)
        return gradients * (_normal(np, x) + near * density)
    s, rise = _logistic(np, _cubic(np, x)), 2 * math.sqrt(2 / math.pi) * (1 + 3 * _CUBIC * near**2)
    return gradients * (s + near * rise * s * _logistic(np, -_cubic(np, x)))


def _mish_gate(np: Any, x: Any) -> Any:
    return np.tanh(np.logaddexp(0, x))


def _mish_grad(np: Any, gradients: Any, x: Any) -> Any:
    t = _mish_gate(np, x)
    return gradients * (t + _near(np, x) * (1 - t * t) * _logistic(np, x))


def _lisht_grad(np: Any, gradients: Any, x: Any) -> Any:
    return gradients * (np.tanh(x) + _near(np, x) / np.cosh(np.clip(x, -400, 400)) ** 2)


def _tanhshrink(np: Any, x: Any) -> Any:
    # The continued fraction of tanh near 0, where the difference cancels.
    z = np.minimum(x * x, 4)
    fraction = np.zeros_like(z)
    for k in range(35, 1, -2):
        fraction = z / (k + fraction)
    return np.where(x * x < 4, x * fraction / (1 + fraction), x - np.tanh(x))


def _kept(np: Any, x: Any, lower: float, upper: float) -> Any:
    return ~((x >= lower) & (x <= upper))


def _softshrink(np: Any, x: Any, lower: float, upper: float) -> Any:
    return np.where(_kept(np, x, lower, upper), x - np.where(x > upper, upper, lower), 0)


def _shrink_grad(np: Any, gradients: Any, x: Any, lower: float, upper: float) -> Any:
    return np.where(_kept(np, x, lower, upper), gradients, 0)


def _tail(np: Any, x: Any, value: Any) -> Any:
    """Roundoffs of the exponent in the tails, and below float's normal numbers."""
    return 4 * np.minimum(x * x, 1e4) * np.nan_to_num(np.abs(value), posinf=0) + 1e-29


def _of_sum(np: Any, gradients: Any, *rest: Any, **attributes: Any) -> Any:
    return 8 * np.abs(gradients)


# A slope is a sum whose terms may cancel. Infinity times a slope is NaN if the slope is too small
# for float.
_SLOPE = {"roundoffs": 24, "extremes": False, "slack": _of_sum}
_BOUNDS = {"lower": -0.5, "upper": 1.25}


OPS = {
    "Relu": {
        "rule": "elementwise",
        "formula": (
            r"y = \max(x, 0)",
            r"dx = \begin{cases} dy & x > 0 \\ 0 & \text{else} \end{cases}",
        ),
        "reference": lambda np, x: np.where(x <= 0, 0, x),
    },
    "Gelu": {
        "rule": "elementwise",
        "formula": (
            r"y = x \, \Phi(x)",
            r"\Phi(x) \approx \frac{1}{2} \left( 1 + \tanh\left( \sqrt{\frac{2}{\pi}} "
            r"\left( x + 0.044715 \, x^3 \right) \right) \right)",
            r"dx = dy \left( \Phi(x) + x \, \Phi'(x) \right)",
        ),
        "reference": _gelu,
        "attributes": {"approximate": True},
        "more_attributes": [{"approximate": False}],
        "roundoffs": 24,
        "slack": lambda np, x, approximate: _tail(np, x, _gelu(np, x, approximate)),
    },
    "SwiGlu": {
        "rule": "elementwise",
        "formula": (
            r"y = g \, \sigma(g) \, v, \quad \sigma(g) = \frac{1}{1 + e^{-g}}",
            r"dg = dy \, v \, \sigma(g) \left( 1 + g \left( 1 - \sigma(g) \right) \right)",
            r"dv = dy \, g \, \sigma(g)",
        ),
        # silu(gate) overflows in float, but not in float64.
        "reference": lambda np, gate, value: _gated(np, gate, _logistic(np, gate)) * value,
        "roundoffs": 24,
        "extremes": False,
        "registers": 40,
    },
    "Mish": {
        "rule": "elementwise",
        "formula": (
            r"y = x \tanh(s), \quad s = \log\left( 1 + e^x \right)",
            r"dx = dy \left( \tanh(s) + x \, \sigma(x) "
            r"\left( 1 - \tanh^2(s) \right) \right)",
        ),
        "reference": lambda np, x: _gated(np, x, _mish_gate(np, x)),
        "roundoffs": 24,
        "slack": lambda np, x: _tail(np, x, _gated(np, x, _mish_gate(np, x))),
        "registers": 48,
    },
    "Lisht": {
        "rule": "elementwise",
        "formula": (
            r"y = x \tanh(x)",
            r"dx = dy \left( \tanh(x) + x \left( 1 - \tanh^2(x) \right) \right)",
        ),
        "reference": lambda np, x: x * np.tanh(x),
        "roundoffs": 24,
        "slack": lambda np, x: _tail(np, x, x * np.tanh(x)),
        "registers": 48,
    },
    "Tanhshrink": {
        "rule": "elementwise",
        "formula": (r"y = x - \tanh(x)", r"dx = dy \tanh^2(x)"),
        "reference": _tanhshrink,
        "roundoffs": 24,
        "slack": lambda np, x: _tail(np, x, _tanhshrink(np, x)),
        "registers": 48,
    },
    "Hardshrink": {
        "rule": "elementwise",
        "formula": (
            r"y = \begin{cases} x & x < l \text{ or } x > u \\ 0 & \text{else} \end{cases}",
            r"dx = \begin{cases} dy & x < l \text{ or } x > u \\ 0 & \text{else} "
            r"\end{cases}",
        ),
        "reference": lambda np, x, lower, upper: np.where(_kept(np, x, lower, upper), x, 0),
        "attributes": _BOUNDS,
    },
    "Softshrink": {
        "rule": "elementwise",
        "formula": (
            r"y = \begin{cases} x - l & x < l \\ x - u & x > u \\ 0 & \text{else} "
            r"\end{cases}",
            r"dx = \begin{cases} dy & x < l \text{ or } x > u \\ 0 & \text{else} "
            r"\end{cases}",
        ),
        "reference": _softshrink,
        "attributes": _BOUNDS,
        "roundoffs": 2,
    },
    "ReluGrad": {"reference": lambda np, gradients, x: np.where(x > 0, gradients, 0)},
    "GeluGrad": {
        "reference": _gelu_grad,
        "attributes": {"approximate": True},
        "more_attributes": [{"approximate": False}],
        **_SLOPE,
    },
    "SwiGluGrad": {
        "reference": lambda np, gradients, gate, value: (
            gradients * value * _silu_slope(np, gate),
            gradients * _gated(np, gate, _logistic(np, gate)),
        ),
        "roundoffs": 24,
        "extremes": False,
        "slack": lambda np, gradients, gate, value: 8 * np.abs(gradients * value),
        "registers": 56,
    },
    "MishGrad": {"reference": _mish_grad, **_SLOPE, "registers": 40},
    "LishtGrad": {"reference": _lisht_grad, **_SLOPE, "registers": 48},
    "TanhshrinkGrad": {
        "reference": lambda np, gradients, x: gradients * np.tanh(x) ** 2,
        **_SLOPE,
        "registers": 48,
    },
    "HardshrinkGrad": {"reference": _shrink_grad, "attributes": _BOUNDS},
    "SoftshrinkGrad": {"reference": _shrink_grad, "attributes": _BOUNDS},
}
