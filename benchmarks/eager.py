# SPDX-License-Identifier: Apache-2.0
"""The replay of C++ gradients against the same gradients written in Python."""

from collections.abc import Callable

import measure
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops as python_ops

import tensorflow_ext as tfe
from tensorflow_ext import raw_ops

GRADIENT_BAR = 1.05


def _relu(op: tf.Operation, dy: tf.Tensor) -> tf.Tensor:
    return raw_ops.relu_grad(dy, op.inputs[0])


def _sign(op: tf.Operation, dy: tf.Tensor) -> tf.Tensor:
    return raw_ops.sign_straight_through_grad(
        dy, op.inputs[0], clip=op.get_attr("clip")
    )


def _floor_mod(op: tf.Operation, dz: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    x, y = op.inputs
    x_shape, y_shape = tf.shape(x), tf.shape(y)
    x_axes, y_axes = tf.raw_ops.BroadcastGradientArgs(s0=x_shape, s1=y_shape)
    dy = raw_ops.floor_mod_grad(dz, x, y)
    return (
        tf.reshape(tf.raw_ops.Sum(input=dz, axis=x_axes), x_shape),
        tf.reshape(tf.raw_ops.Sum(input=dy, axis=y_axes), y_shape),
    )


# Op: its function on the arguments, and its gradient by hand.
CASES: dict[str, tuple[Callable, Callable, int]] = {
    "TfExt>Relu": (tfe.relu, _relu, 1),
    "TfExt>SignStraightThrough": (tfe.sign_straight_through, _sign, 1),
    "TfExt>FloorMod": (tfe.floor_mod, _floor_mod, 2),
}


def _by_hand(op: str, gradient: Callable, step: Callable) -> Callable[[], object]:
    entry = python_ops.gradient_registry._registry[op]
    replayed = entry["type"]

    # The two assignments cost nothing beside the step; a context manager does.
    def run() -> object:
        entry["type"] = gradient
        result = step()
        entry["type"] = replayed
        return result

    return run


def forward_and_gradient() -> list[measure.Result]:
    """Eager forward and gradient of small tensors: all cost is overhead."""
    results = []
    rng = np.random.default_rng(0)
    for op, (function, gradient, arity) in CASES.items():
        arguments = [tf.constant(rng.random(8) + 0.5) for _ in range(arity)]
        step = measure.step(function, arguments, by=range(arity))
        times = measure.interleave(
            {"replay": step, "by hand": _by_hand(op, gradient, step)}, rounds=31
        )
        results.append(
            measure.Result(
                "eager forward + gradient",
                op,
                measure.median(times, "replay"),
                "RegisterGradient by hand",
                measure.ratio(times, "replay", "by hand"),
                GRADIENT_BAR,
            )
        )
    return results


def tracing(count: int = 1000) -> list[measure.Result]:
    """Tracing a tf.function of `count` ops and their gradients."""

    def trace() -> None:
        @tf.function
        def chain(x: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in range(count):
                    y = tfe.relu(y)
            return tape.gradient(y, x)

        chain.get_concrete_function(tf.TensorSpec([8], tf.float32))

    times = measure.interleave(
        {"replay": trace, "by hand": _by_hand("TfExt>Relu", _relu, trace)}, rounds=5
    )
    return [
        measure.Result(
            "tracing tf.function",
            f"{count:,} x TfExt>Relu",
            measure.median(times, "replay"),
            "RegisterGradient by hand",
            measure.ratio(times, "replay", "by hand"),
            GRADIENT_BAR,
        )
    ]


def run() -> list[measure.Result]:
    return forward_and_gradient() + tracing()
