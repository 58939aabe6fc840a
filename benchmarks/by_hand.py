"""Each op's gradient as a user would write it in Python, for tf.RegisterGradient."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import comparisons
import numpy as np
import reference_ops
import tensorflow as tf

import tensorflow_ext as tfe
from tensorflow_ext import raw_ops

Gradient = Callable[..., object]


@dataclasses.dataclass(frozen=True)
class Case:
    """An op with inputs.

    Attributes:
      op: Its name.
      function: Runs only the op.
      gradient: Takes a tf.Operation and its upstream gradients.
      inputs: The arguments of `function`.
      by: The inputs that have a gradient.
    """

    op: str
    function: Callable[..., object]
    gradient: Gradient
    inputs: Sequence[np.ndarray]
    by: Sequence[int]


def _elementwise(gradient: Callable[..., tf.Tensor], *attributes: str) -> Gradient:
    """The gradient of an op with one input and a gradient op."""
    return lambda op, dy: gradient(dy, op.inputs[0], **_attributes(op, *attributes))


def _attributes(op: tf.Operation, *names: str) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in names}


def _summed(
    x: tf.Tensor, y: tf.Tensor, dx: tf.Tensor, dy: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sums the gradients to the shapes of the inputs that were broadcast."""
    x_shape, y_shape = tf.shape(x), tf.shape(y)
    x_axes, y_axes = tf.raw_ops.BroadcastGradientArgs(s0=x_shape, s1=y_shape)
    return (
        tf.reshape(tf.raw_ops.Sum(input=dx, axis=x_axes), x_shape),
        tf.reshape(tf.raw_ops.Sum(input=dy, axis=y_axes), y_shape),
    )


def _snake(op: tf.Operation, dy: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    x, frequency = op.inputs
    return _summed(x, frequency, *raw_ops.snake_grad(dy, x, frequency))


def _rrelu(op: tf.Operation, dy: tf.Tensor) -> tuple[tf.Tensor, None]:
    return raw_ops.rrelu_grad(dy, *op.inputs, **_attributes(op, "lower", "upper")), None


def _floor_mod(op: tf.Operation, dz: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    x, y = op.inputs
    return _summed(x, y, dz, raw_ops.floor_mod_grad(dz, x, y))


def _multiply_left(op: tf.Operation, dz: tf.Tensor) -> tuple[tf.Tensor, None]:
    x, y = op.inputs
    shape = tf.shape(x)
    axes, _ = tf.raw_ops.BroadcastGradientArgs(s0=shape, s1=tf.shape(y))
    dx = tf.raw_ops.Sum(input=raw_ops.multiply_left(dz, y), axis=axes)
    return tf.reshape(dx, shape), None


def _clip_by_global_norm(op: tf.Operation, *upstream: tf.Tensor) -> object:
    *values, clip_norm = op.inputs
    *clipped, norm = upstream
    dx, dclip = raw_ops.clip_by_global_norm_grad(clipped, norm, values, clip_norm)
    return *dx, dclip


def _embedding_bag(op: tf.Operation, dy: tf.Tensor) -> object:
    indices, params, weights = op.inputs
    combiner = op.get_attr("combiner")
    return (
        None,
        raw_ops.embedding_bag_params_grad(dy, indices, params, weights, combiner=combiner),
        raw_ops.embedding_bag_weights_grad(dy, indices, params, combiner=combiner),
    )


def _reverse_n(op: tf.Operation, *upstream: tf.Tensor) -> object:
    factor = -op.get_attr("scale")
    return [
        raw_ops.scale(dy, factor=factor) if x.dtype.is_floating else None
        for x, dy in zip(op.inputs, upstream, strict=True)
    ]


def _layer_norm(op: tf.Operation, *upstream: tf.Tensor) -> object:
    x, scale, _ = op.inputs
    _, mean, inverse = op.outputs
    return raw_ops.layer_norm_grad(*upstream, x, scale, mean, inverse)


def _rms_norm(op: tf.Operation, *upstream: tf.Tensor) -> object:
    x, scale = op.inputs
    return raw_ops.rms_norm_grad(*upstream, x, scale, op.outputs[1])


_DISPLACEMENTS = ("kernel_size", "max_displacement", "stride_1", "stride_2", "pad")


def _correlation_cost(op: tf.Operation, dy: tf.Tensor) -> object:
    a, b = op.inputs
    attributes = _attributes(op, *_DISPLACEMENTS)
    return (
        raw_ops.correlation_cost_a_grad(dy, b, **attributes),
        raw_ops.correlation_cost_b_grad(dy, a, **attributes),
    )


def _roi_pool(op: tf.Operation, dy: tf.Tensor, _: object) -> tuple[tf.Tensor, None]:
    data, rois = op.inputs
    return raw_ops.roi_pool_grad(dy, rois, op.outputs[1], tf.shape(data)), None


_BINS = ("pooled_height", "pooled_width", "spatial_scale", "sampling_ratio", "aligned")


def _roi_align(op: tf.Operation, dy: tf.Tensor) -> tuple[tf.Tensor, None]:
    data, rois = op.inputs
    attributes = _attributes(op, *_BINS)
    return raw_ops.roi_align_grad(dy, rois, tf.shape(data), **attributes), None


def _prune(op: tf.Operation, dy: tf.Tensor) -> tuple[tf.Tensor, None]:
    if op.get_attr("gradient") == b"straight_through":
        return dy, None
    return raw_ops.prune_by_magnitude_grad(dy, *op.inputs), None


# Functions for ops whose tensors tests/python/comparisons.py combines into one.
_OTHERWISE: dict[str, Callable[..., object]] = {
    "clip_by_global_norm": lambda x, y, norm: tfe.clip_by_global_norm([x, y], norm),
    "layer_norm": tfe.layer_norm,
    "rms_norm": tfe.rms_norm,
    "reverse_gradient_n": lambda x: tfe.reverse_gradient_n([x, x], scale=0.5),
    "roi_pool": lambda data, rois: tfe.roi_pool(data, rois, **reference_ops.BINS),
    "zero_out_with_index": tfe.zero_out_with_index,
}

# Gradients by the names in comparisons.py.
_GRADIENTS: dict[str, Gradient] = {
    "relu": _elementwise(raw_ops.relu_grad),
    "gelu": _elementwise(raw_ops.gelu_grad, "approximate"),
    "swiglu": lambda op, dy: raw_ops.swi_glu_grad(dy, *op.inputs),
    "mish": _elementwise(raw_ops.mish_grad),
    "lisht": _elementwise(raw_ops.lisht_grad),
    "snake": _snake,
    "tanhshrink": _elementwise(raw_ops.tanhshrink_grad),
    "hardshrink": _elementwise(raw_ops.hardshrink_grad, "lower", "upper"),
    "softshrink": _elementwise(raw_ops.softshrink_grad, "lower", "upper"),
    "rrelu": _rrelu,
    "sparsemax": lambda op, dy: raw_ops.sparsemax_grad(dy, op.outputs[0]),
    "floor_mod": _floor_mod,
    "multiply_left": _multiply_left,
    "clip_by_global_norm": _clip_by_global_norm,
    "embedding_bag": _embedding_bag,
    "sign_straight_through": _elementwise(raw_ops.sign_straight_through_grad, "clip"),
    "round_straight_through": lambda op, dy: dy,
    "reverse_gradient": lambda op, dy: raw_ops.scale(dy, factor=-op.get_attr("scale")),
    "reverse_gradient_n": _reverse_n,
    "scale_gradient": lambda op, dy: raw_ops.scale(dy, factor=op.get_attr("scale")),
    "clip_gradient": lambda op, dy: raw_ops.clip(dy, **_attributes(op, "min", "max")),
    "straight_through": lambda op, dy: (None, dy),
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "correlation_cost": _correlation_cost,
    "roi_pool": _roi_pool,
    "roi_align": _roi_align,
    "resampler": lambda op, dy: raw_ops.resampler_grad(dy, *op.inputs),
    "prune_by_magnitude": _prune,
    "zero_out": lambda op, dy: raw_ops.zero_out(dy),
    "zero_out_with_index": lambda op, dy, _: raw_ops.zero_out(dy),
}


def _case(name: str, gradient: Gradient) -> Case:
    (row,) = (row for row in comparisons.COMPARISONS if row.name == name)
    by = [i for i in range(len(row.inputs)) if i not in row.without_gradient]
    raw_name = "swi_glu" if name == "swiglu" else name
    function = _OTHERWISE.get(name, row.function)
    return Case(raw_ops.OPS[raw_name], function, gradient, row.inputs, by)


CASES = [_case(name, gradient) for name, gradient in _GRADIENTS.items()]
RELU = CASES[0]
