"""Plots of elementwise ops: the value and the gradient as functions of one input."""

import dataclasses
import io
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2

from tensorflow_ext import _vectorize, raw_ops

mpl.use("svg")
from matplotlib import pyplot

# Readable on white and on black.
_VALUE, _GRADIENT, _FRAME = "#3f7fd6", "#e0722c", "#808890"
# Attributes that have no default; all others are 0.5.
_ATTRIBUTES = {"min": -1.0, "max": 1.0, "factor": 2.0}
_RANGE = np.linspace(-4, 4, 801)


@dataclasses.dataclass(frozen=True)
class Curve:
    """An op as a function of one input, with fixed other inputs and attributes."""

    along: str
    given: dict[str, float]
    attrs: dict[str, float]

    @property
    def remark(self) -> str:
        both = {**self.given, **self.attrs}
        return "".join(f", {name} = {value:g}" for name, value in both.items())


def curve(name: str, op_def: op_def_pb2.OpDef) -> Curve | None:
    """The curve to plot for an op; None if the op is not elementwise.

    Args:
      name: The name of its function in raw_ops.
      op_def: Its OpDef.
    """
    rule = _vectorize.RULES.get(name)
    if rule not in (_vectorize.elementwise, _vectorize.broadcasting):
        return None
    names = [argument.name for argument in op_def.input_arg]
    types = {argument.type_attr for argument in op_def.input_arg}
    if types != {"T"} or name in ("no_gradient", "sparsemax", "sparsemax_grad"):
        return None
    # A gradient op is plotted over the inputs of its forward op.
    along = names[1] if names[0] == "gradients" else names[0]
    needed = [
        attr for attr in op_def.attr if attr.type != "type" and not attr.HasField("default_value")
    ]
    if any(attr.type != "float" for attr in needed):
        return None
    attrs = {attr.name: _ATTRIBUTES.get(attr.name, 0.5) for attr in needed}
    return Curve(along, {other: 1.0 for other in names if other != along}, attrs)


def draw(name: str, op_def: op_def_pb2.OpDef, what: Curve) -> bytes:
    """The plot of an op as SVG."""
    function: Callable[..., Any] = getattr(raw_ops, name)
    x = tf.constant(_RANGE, tf.float64)
    given = {
        other: tf.fill(x.shape, tf.constant(value, tf.float64))
        for other, value in what.given.items()
    }
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = function(**{what.along: x}, **given, **what.attrs)
        outputs = result if isinstance(result, (list, tuple)) else [result]
        output = outputs[0]
    gradient = tape.gradient(output, x)
    y_name = op_def.output_arg[0].name
    with mpl.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": name,
            "font.family": "sans-serif",
            "text.color": _FRAME,
            "axes.edgecolor": _FRAME,
            "axes.labelcolor": _FRAME,
            "xtick.color": _FRAME,
            "ytick.color": _FRAME,
        }
    ):
        figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
        axes.axhline(0, color=_FRAME, linewidth=0.6)
        axes.axvline(0, color=_FRAME, linewidth=0.6)
        axes.plot(_RANGE, _broken(output), color=_VALUE, linewidth=2, label=y_name)
        if gradient is not None:
            label = f"d {y_name} / d {what.along}"
            axes.plot(
                _RANGE,
                _broken(gradient),
                color=_GRADIENT,
                linewidth=2,
                linestyle=(0, (5, 2)),
                label=label,
            )
        axes.set_xlabel(what.along)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
        file = io.BytesIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        pyplot.close(figure)
    return file.getvalue()


def _broken(values: tf.Tensor) -> np.ndarray:
    """The values with a gap at each jump."""
    array = np.array(values)
    jumps = np.abs(np.diff(array)) > 0.2
    array[1:][jumps] = np.nan
    return array
