# SPDX-License-Identifier: Apache-2.0
"""Activation functions and their gradients against stock compositions, XLA and a
memory copy."""

from collections.abc import Callable

import kernels
import measure
import numpy as np
import tensorflow as tf

import tensorflow_ext as tfe
from tensorflow_ext import raw_ops

Function = Callable[..., tf.Tensor]


def _mish(x: tf.Tensor) -> tf.Tensor:
    return x * tf.tanh(tf.nn.softplus(x))


def _softshrink(x: tf.Tensor) -> tf.Tensor:
    return tf.where(x > 0.5, x - 0.5, tf.where(x < -0.5, x + 0.5, 0.0))


# Gradient op: (ours, the function that XLA is to differentiate).
_GRADIENTS: dict[str, tuple[Function, Function]] = {
    "GeluGrad": (raw_ops.gelu_grad, lambda x: tf.nn.gelu(x, approximate=True)),
    "GeluGrad, exact": (
        lambda dy, x: raw_ops.gelu_grad(dy, x, approximate=False),
        tf.nn.gelu,
    ),
    "MishGrad": (raw_ops.mish_grad, _mish),
    "LishtGrad": (raw_ops.lisht_grad, lambda x: x * tf.tanh(x)),
    "TanhshrinkGrad": (raw_ops.tanhshrink_grad, lambda x: x - tf.tanh(x)),
    "HardshrinkGrad": (
        raw_ops.hardshrink_grad,
        lambda x: tf.where(tf.abs(x) > 0.5, x, 0.0),
    ),
    "SoftshrinkGrad": (raw_ops.softshrink_grad, _softshrink),
}


def _differentiate(function: Function) -> Function:
    """The gradient alone: the compiler leaves out what it does not need."""

    def run(dy: tf.Tensor, *inputs: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            y = function(*inputs)
        return tape.gradient(y, inputs, output_gradients=dy)

    return run


def _step(function: Function, jit_compile: bool = False) -> Callable[..., object]:
    """Forward and backward, in a tf.function."""

    @tf.function(jit_compile=jit_compile)
    def run(dy: tf.Tensor, *inputs: tf.Tensor) -> object:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            y = function(*inputs)
        return y, tape.gradient(y, inputs, output_gradients=dy)

    return run


def _gradients(arguments: list[tf.Tensor]) -> list[measure.Result]:
    """Ours against the gradient compiled by XLA, beside the bandwidth of a copy."""
    results = []
    copy = kernels.parallel_copy(kernels.ELEMENTS)
    for name, (ours, function) in _GRADIENTS.items():
        compiled = tf.function(_differentiate(function), jit_compile=True)
        contenders: dict[str, Callable[[], object]] = {
            "ours": lambda f=ours: f(*arguments),
            "XLA": lambda f=compiled: f(*arguments),
            "copy": copy,
        }
        times = measure.interleave(contenders, rounds=11)
        seconds = measure.median(times, "ours")
        # Two tensors are read and one is written, where the copy moves two.
        share = 1.5 / measure.ratio(times, "ours", "copy")
        for rival, ratio, bar in (
            ("stock, jit_compile", measure.ratio(times, "ours", "XLA"), 1.0),
            ("a copy of as many bytes", 1 / share, 1 / 0.9),
        ):
            results.append(
                measure.Result(
                    f"activation, {kernels.MEGABYTES} MB float",
                    name,
                    seconds,
                    rival,
                    ratio,
                    bar,
                    f"{share:.2f} of a copy's bandwidth",
                )
            )
    return results


def _swiglu(dy: tf.Tensor, gate: tf.Tensor, value: tf.Tensor) -> list[measure.Result]:
    def stock(gate: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
        return tf.nn.silu(gate) * value

    steps = {
        "ours": _step(tfe.swiglu),
        "tf.function": _step(stock),
        "jit_compile": _step(stock, jit_compile=True),
    }
    contenders: dict[str, Callable[[], object]] = {
        name: lambda f=step: f(dy, gate, value) for name, step in steps.items()
    }
    times = measure.interleave(contenders, rounds=11)
    return [
        measure.Result(
            "SwiGlu",
            f"forward + backward, {kernels.MEGABYTES} MB float",
            measure.median(times, "ours"),
            f"silu(gate) * value, {rival}",
            measure.ratio(times, "ours", rival),
            bar,
        )
        for rival, bar in (("tf.function", 1 / 1.5), ("jit_compile", 1.0))
    ]


def run() -> list[measure.Result]:
    rng = np.random.default_rng(2)
    arguments = [
        tf.constant(rng.standard_normal(kernels.ELEMENTS, dtype=np.float32))
        for _ in range(3)
    ]
    return _gradients(arguments[:2]) + _swiglu(*arguments)
