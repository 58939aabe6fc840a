"""Gradients of elementwise ops against stock compositions and the limit."""

from collections.abc import Callable, Mapping

import limits
import measure
import numpy as np
import pytorch
import tensorflow as tf

from tensorflow_ext import raw_ops

MEGABYTES = 64
ELEMENTS = MEGABYTES * 2**20 // 4

# Gradient op: (ours, the best stock composition, arguments).
CASES: dict[str, tuple[Callable, Callable, int]] = {
    "ReluGrad": (raw_ops.relu_grad, lambda dy, x: tf.raw_ops.ReluGrad(gradients=dy, features=x), 2),
    "SignStraightThroughGrad": (
        lambda dy, x: raw_ops.sign_straight_through_grad(dy, x, clip=1.0),
        lambda dy, x: tf.where(tf.abs(x) <= 1.0, dy, 0.0),
        2,
    ),
    "Scale": (lambda dy: raw_ops.scale(dy, factor=-0.5), lambda dy: dy * -0.5, 1),
    "Clip": (
        lambda dy: raw_ops.clip(dy, min=-0.5, max=0.5),
        lambda dy: tf.clip_by_value(dy, -0.5, 0.5),
        1,
    ),
    "ClipGrad": (
        lambda dy, x: raw_ops.clip_grad(dy, x, min=-0.5, max=0.5),
        lambda dy, x: tf.where((x >= -0.5) & (x <= 0.5), dy, 0.0),
        2,
    ),
    "ZeroOut": (raw_ops.zero_out, lambda dy: tf.concat([dy[:1], tf.zeros_like(dy[1:])], 0), 1),
    "FloorModGrad": (raw_ops.floor_mod_grad, lambda dy, x, y: -tf.floor(x / y) * dy, 3),
    "MultiplyLeft": (raw_ops.multiply_left, lambda dy, y: dy * y, 2),
}


def _torch_relu_grad(dy: pytorch.Tensor, x: pytorch.Tensor) -> pytorch.Tensor:
    return pytorch.aten.threshold_backward(dy, x, 0)


def compare(
    group: str,
    name: str,
    ours: measure.Contender,
    rivals: Mapping[str, measure.Contender],
    tensors: int,
) -> list[measure.Result]:
    """Compares work that must read or write `tensors` tensors of ELEMENTS floats."""
    return measure.compare(
        f"{group}, {MEGABYTES} MB float",
        name,
        ours,
        rivals,
        rounds=11,
        needs=limits.Needs(tensors * ELEMENTS * 4),
    )


def run() -> list[measure.Result]:
    results = []
    rng = np.random.default_rng(1)
    for name, (ours, stock, arity) in CASES.items():
        arguments = [
            tf.constant(rng.random(ELEMENTS, dtype=np.float32) + 0.25) for _ in range(arity)
        ]
        side = measure.contender(ours, arguments, mode="eager")
        read = 0 if name == "ZeroOut" else arity  # ZeroOut reads one element.
        rivals = {
            "stock, eager": measure.contender(stock, arguments, (), 1.0, mode="eager"),
            "stock, jit_compile": measure.contender(stock, arguments, (), 1.0, mode="jit_compile"),
        }
        if name == "ReluGrad":
            rivals |= pytorch.contenders(
                "threshold_backward", _torch_relu_grad, arguments, (), side.work
            )
        results += compare("elementwise", name, side, rivals, read + 1)
    return results
