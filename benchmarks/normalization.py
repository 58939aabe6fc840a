# SPDX-License-Identifier: Apache-2.0
"""LayerNorm and RmsNorm against Keras' layers of those names, in a tf.function
and compiled by XLA; eagerly too. The bars are for forward and backward."""

import functools
from collections.abc import Callable

import keras
import measure
import numpy as np
import pytorch
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


def _torch_layer_norm(
    x: pytorch.Tensor, scale: pytorch.Tensor, offset: pytorch.Tensor
) -> pytorch.Tensor:
    return pytorch.functional.layer_norm(x, scale.shape, scale, offset, EPSILON)


def _torch_rms_norm(x: pytorch.Tensor, scale: pytorch.Tensor) -> pytorch.Tensor:
    return pytorch.functional.rms_norm(x, scale.shape, scale, EPSILON)


def _measure(
    group: str,
    ours: Function,
    keras_function: Function,
    torch: pytorch.Function,
    parameters: int,
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
        for case, by in measure.forward_and_backward(*range(len(inputs))):
            contender = functools.partial(
                measure.contender, inputs=inputs, by=by, upstream=upstream
            )
            side = contender(ours)
            rivals = {
                "Keras, tf.function": contender(
                    keras_function, bar=STOCK_BAR if by else None
                ),
                "Keras, jit_compile": contender(
                    keras_function, bar=XLA_BAR if by else None, mode="jit_compile"
                ),
            }
            rivals |= pytorch.contenders(
                torch.__name__.removeprefix("_torch_"),
                torch,
                inputs,
                by,
                side.work,
                upstream,
            )
            # Forward x and y; backward x, dy and dx.
            moved = (5 if by else 2) * 4 * x.shape.num_elements()
            for mode, contender_of_ours, against in (
                ("tf.function", side, rivals),
                (
                    "eager",
                    contender(ours, mode="eager"),
                    {"Keras, eager": contender(keras_function, mode="eager")},
                ),
            ):
                results += measure.compare(
                    group,
                    f"{case}, {shape[0]} x {shape[1]}, {mode}",
                    contender_of_ours,
                    against,
                    note=measure.bandwidth(moved),
                )
    return results


def run() -> list[measure.Result]:
    return [
        *_measure(
            "LayerNorm", _layer_norm, _keras_layer_norm, _torch_layer_norm, parameters=2
        ),
        *_measure("RmsNorm", _rms_norm, _keras_rms_norm, _torch_rms_norm, parameters=1),
    ]
