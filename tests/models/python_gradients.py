"""Gradients that Python lacks and that a tape needs for a second order."""

from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops


def register() -> None:
    """For this process, which must not import tensorflow_ext."""
    # "not differentiable" in Python, whose second order is silently wrong
    ops.gradient_registry._registry.pop("ResizeBilinearGrad")
    for name in ("ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor"):
        tf.RegisterGradient(f"{name}Grad")(_resize_grad)
    tf.RegisterGradient("SoftsignGrad")(_softsign_grad)


def _resize_grad(op: Any, dy: tf.Tensor) -> list[tf.Tensor | None]:
    """The op is linear in the gradients; its transpose is the resizing."""
    resized = getattr(tf.raw_ops, op.type.removesuffix("Grad"))(
        images=dy,
        size=tf.shape(op.inputs[0])[1:3],
        align_corners=op.get_attr("align_corners"),
        half_pixel_centers=op.get_attr("half_pixel_centers"),
    )
    return [tf.cast(resized, op.inputs[0].dtype), None]


def _softsign_grad(op: Any, dy: tf.Tensor) -> list[tf.Tensor]:
    """The gradients of g / (1 + |x|)^2."""
    g, x = op.inputs
    size = 1 + tf.abs(x)
    return [dy / size**2, -2 * dy * g * tf.sign(x) / size**3]
