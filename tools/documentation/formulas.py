# SPDX-License-Identifier: Apache-2.0
"""The formulas of the ops in LaTeX, for their pages.

Each has an op's value, then its gradient: dx is the gradient of the input x for the upstream
gradient dy.
"""

_ZERO_OUT = (
    r"y_i = \begin{cases} x_i & i = 0 \\ 0 & \text{else} \end{cases}",
    r"dx_i = \begin{cases} dy_i & i = 0 \\ 0 & \text{else} \end{cases}",
)

FORMULAS: dict[str, tuple[str, ...]] = {
    "Relu": (r"y = \max(x, 0)", r"dx = \begin{cases} dy & x > 0 \\ 0 & \text{else} \end{cases}"),
    "Gelu": (
        r"y = x \, \Phi(x)",
        r"\Phi(x) \approx \frac{1}{2} \left( 1 + \tanh\left( \sqrt{\frac{2}{\pi}} "
        r"\left( x + 0.044715 \, x^3 \right) \right) \right)",
        r"dx = dy \left( \Phi(x) + x \, \Phi'(x) \right)",
    ),
    "SwiGlu": (
        r"y = g \, \sigma(g) \, v, \quad \sigma(g) = \frac{1}{1 + e^{-g}}",
        r"dg = dy \, v \, \sigma(g) \left( 1 + g \left( 1 - \sigma(g) \right) \right)",
        r"dv = dy \, g \, \sigma(g)",
    ),
    "Mish": (
        r"y = x \tanh(s), \quad s = \log\left( 1 + e^x \right)",
        r"dx = dy \left( \tanh(s) + x \, \sigma(x) "
        r"\left( 1 - \tanh^2(s) \right) \right)",
    ),
    "Lisht": (
        r"y = x \tanh(x)",
        r"dx = dy \left( \tanh(x) + x \left( 1 - \tanh^2(x) \right) \right)",
    ),
    "Snake": (
        r"y = x + \frac{\sin^2(f x)}{f}",
        r"dx = dy \left( 1 + \sin(2 f x) \right)",
        r"df = dy \, \frac{f x \sin(2 f x) - \sin^2(f x)}{f^2}",
    ),
    "Tanhshrink": (r"y = x - \tanh(x)", r"dx = dy \tanh^2(x)"),
    "Hardshrink": (
        r"y = \begin{cases} x & x < l \text{ or } x > u \\ 0 & \text{else} \end{cases}",
        r"dx = \begin{cases} dy & x < l \text{ or } x > u \\ 0 & \text{else} "
        r"\end{cases}",
    ),
    "Softshrink": (
        r"y = \begin{cases} x - l & x < l \\ x - u & x > u \\ 0 & \text{else} "
        r"\end{cases}",
        r"dx = \begin{cases} dy & x < l \text{ or } x > u \\ 0 & \text{else} "
        r"\end{cases}",
    ),
    "Rrelu": (
        r"y = \begin{cases} x & x \ge 0 \\ a x & x < 0 \end{cases}, \quad "
        r"a \sim U(l, u)",
        r"dx = \begin{cases} dy & x \ge 0 \\ a \, dy & x < 0 \end{cases}",
    ),
    "Sparsemax": (
        r"y_i = \max(x_i - t, 0), \quad \sum_i y_i = 1",
        r"dx_i = \begin{cases} dy_i - \frac{1}{|S|} \sum_{j \in S} dy_j & i \in S \\ "
        r"0 & \text{else} \end{cases}",
        r"S = \{ i : y_i > 0 \}",
    ),
    "LayerNorm": (
        r"y = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} \, s + o",
        r"dx = r \left( d\hat{x} - \overline{d\hat{x}} - "
        r"\hat{x} \, \overline{d\hat{x} \, \hat{x}} \right), \quad "
        r"d\hat{x} = s \, dy",
        r"\hat{x} = r \, (x - \mu), \quad r = \frac{1}{\sqrt{\sigma^2 + \epsilon}}",
        r"ds = \sum dy \, \hat{x}, \quad do = \sum dy",
    ),
    "RmsNorm": (
        r"y = x \, r \, s, \quad r = \frac{1}{\sqrt{\overline{x^2} + \epsilon}}",
        r"dx = r \left( s \, dy - x \, r^2 \, \overline{s \, dy \, x} \right), \quad "
        r"ds = \sum dy \, x \, r",
    ),
    "RoiPool": (
        r"y_{r,b,c} = \max_{p \in b} x_{p,c}",
        r"dx_{p,c} = \sum_{r,b \, : \, \mathrm{argmax}_{r,b,c} = p} dy_{r,b,c}",
    ),
    "RoiAlign": (
        r"y_{r,b,c} = \frac{1}{n} \sum_{s \in b} \sum_p w_{s,p} \, x_{p,c}",
        r"dx_{p,c} = \sum_{r,b} \frac{1}{n} \sum_{s \in b} w_{s,p} \, dy_{r,b,c}",
    ),
    "Resampler": (
        r"z_{n,c} = \sum_{p} w(x_n - p_x) \, w(y_n - p_y) \, d_{p,c}, \quad "
        r"w(t) = \max(1 - |t|, 0)",
        r"dd_{p,c} = \sum_n w(x_n - p_x) \, w(y_n - p_y) \, dz_{n,c}",
        r"dx_n = \sum_{p,c} w'(x_n - p_x) \, w(y_n - p_y) \, d_{p,c} \, dz_{n,c}",
    ),
    "CorrelationCost": (
        r"c_{p,d} = \frac{1}{k^2 C} \sum_{o,c} a_{p+o,c} \, b_{p+d+o,c}",
        r"da_{q,c} = \frac{1}{k^2 C} \sum_{p,o,d \, : \, p+o=q} b_{q+d,c} \, dc_{p,d}",
    ),
    "EmbeddingBag": (
        r"y_b = \sum_l w_{b,l} \, P_{i_{b,l}}",
        r"dP_v = \sum_{b,l \, : \, i_{b,l} = v} w_{b,l} \, dy_b, \quad "
        r"dw_{b,l} = P_{i_{b,l}} \cdot dy_b",
    ),
    "ReverseGradient": (r"y = x", r"dx = -s \, dy"),
    "ReverseGradientN": (r"y_i = x_i", r"dx_i = -s \, dy_i"),
    "ScaleGradient": (r"y = x", r"dx = s \, dy"),
    "ClipGradient": (r"y = x", r"dx = \min(\max(dy, l), u)"),
    "SignStraightThrough": (
        r"y = \mathrm{sign}(x)",
        r"dx = \begin{cases} dy & |x| \le c \\ 0 & \text{else} \end{cases}",
    ),
    "RoundStraightThrough": (r"y = \mathrm{round}(x)", r"dx = dy"),
    "StraightThrough": (r"y = v", r"dv = 0, \quad ds = dy"),
    "PruneByMagnitude": (
        r"y = \begin{cases} w & |w| \ge t \\ 0 & \text{else} \end{cases}",
        r"dw = dy \quad \text{or} \quad "
        r"dw = \begin{cases} dy & |w| \ge t \\ 0 & \text{else} \end{cases}",
    ),
    "ClipByGlobalNorm": (
        r"y_i = x_i \min\left( 1, \frac{c}{n} \right), \quad "
        r"n = \sqrt{\sum_i \|x_i\|^2}",
        r"dx_i = \frac{c}{n} \left( dy_i - \frac{x_i}{n^2} "
        r"\sum_j x_j \cdot dy_j \right) \quad \text{where } n > c",
        r"dc = \frac{1}{n} \sum_j x_j \cdot dy_j \quad \text{where } n > c",
    ),
    "FloorMod": (
        r"z = x - \left\lfloor \frac{x}{y} \right\rfloor y",
        r"dx = dz, \quad dy = -\left\lfloor \frac{x}{y} \right\rfloor dz",
    ),
    "MultiplyLeft": (r"z = x \, y", r"dx = y \, dz"),
    "ZeroOut": _ZERO_OUT,
    "ZeroOutWithIndex": _ZERO_OUT,
    "Scale": (r"y = a \, x", r"dx = a \, dy"),
    "Clip": (
        r"y = \min(\max(x, l), u)",
        r"dx = \begin{cases} dy & l \le x \le u \\ 0 & \text{else} \end{cases}",
    ),
}
