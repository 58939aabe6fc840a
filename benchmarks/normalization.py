# SPDX-License-Identifier: Apache-2.0
"""LayerNorm and RmsNorm against Keras' layers of those names, in a tf.function
and compiled by XLA; eagerly too. The bars are for forward and backward."""

import functools
from collections.abc import Callable

import keras
import measure
import numpy as np
import tensorflow as tf

import tensorflow_ext as tfe

SHAPES = ((4096, 1024), (512, 768), (65536, 64))
EPSILON = 1e-5
# Ours over the rival's: 2 times and 1.2 times faster.
STOCK_BAR, XLA_BAR = 1 / 2, 1 / 1.2

Function = Callable[..., tf.Tensor]


def _layer_norm(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
    return tfe.layer_norm(x, scale, offset, epsilon=EPSILON).y


def _keras_layer_norm(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
    return keras.ops.layer_normalization(x, scale, offset, axis=-1, epsilon=EPSILON)


def _rms_norm(x: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    return tfe.rms_norm(x, scale, epsilon=EPSILON).y


def _keras_rms_norm(x: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    return keras.ops.rms_normalization(x, scale, axis=-1, epsilon=EPSILON)


def _with_gradient(function: Function) -> Function:
    """The gradients of all arguments but the last, the upstream gradient."""

    def step(*arguments: tf.Tensor) -> list[tf.Tensor]:
        *inputs, upstream = arguments
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = function(*inputs)
        return [output, *tape.gradient(output, inputs, upstream)]

    return step


def _measure(
    group: str, ours: Function, rival: Function, parameters: int
) -> list[measure.Result]:
    results = []
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        x, upstream = (
            tf.constant(rng.normal(size=shape).astype(np.float32)) for _ in range(2)
        )
        inputs = [x] + [
            tf.constant(rng.normal(size=shape[-1:]).astype(np.float32))
            for _ in range(parameters)
        ]
        for case, make, arguments in (
            ("forward", lambda f: f, inputs),
            ("forward + backward", _with_gradient, [*inputs, upstream]),
        ):
            contenders = {
                "ours": tf.function(make(ours)),
                "Keras in a tf.function": tf.function(make(rival)),
                "Keras, jit_compile=True": tf.function(make(rival), jit_compile=True),
                "ours, eager": make(ours),
                "Keras, eager": make(rival),
            }
            times = measure.interleave(
                {
                    name: functools.partial(function, *arguments)
                    for name, function in contenders.items()
                }
            )
            is_step = make is _with_gradient
            # Forward x and y; backward x, dy and dx.
            moved = (5 if is_step else 2) * 4 * x.shape.num_elements()
            for side, name, bar in (
                ("ours", "Keras in a tf.function", STOCK_BAR if is_step else None),
                ("ours", "Keras, jit_compile=True", XLA_BAR if is_step else None),
                ("ours, eager", "Keras, eager", None),
            ):
                results.append(
                    measure.Result(
                        group,
                        f"{case}, {shape[0]} x {shape[1]}",
                        measure.median(times, side),
                        name,
                        measure.ratio(times, side, name),
                        bar,
                        f"{moved / measure.median(times, side) / 1e9:.1f} GB/s",
                    )
                )
    return results


def run() -> list[measure.Result]:
    return [
        *_measure("LayerNorm", _layer_norm, _keras_layer_norm, parameters=2),
        *_measure("RmsNorm", _rms_norm, _keras_rms_norm, parameters=1),
    ]
