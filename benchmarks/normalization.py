"""LayerNorm and RmsNorm against the Keras layers with those names, in a tf.function and compiled by
XLA. The bars are for forward and backward."""

from collections.abc import Callable
from typing import Any

import keras
import limits
import measure
import numpy as np
import ops
import pytorch
import tensorflow as tf

import tensorflow_ext as tfe

SHAPES = ((4096, 1024), (512, 768), (65536, 64))
EPSILON = 1e-5
# Our time over the rival's: 2 times and 1.2 times faster.
STOCK_BAR, XLA_BAR = 1 / 2, 1 / 1.2

Function = Callable[..., tf.Tensor]


def layer_norm(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
    return tfe.layer_norm(x, scale, offset, epsilon=EPSILON).y


def keras_layer_norm(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
    return keras.ops.layer_normalization(x, scale, offset, axis=-1, epsilon=EPSILON)


def rms_norm(x: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    return tfe.rms_norm(x, scale, epsilon=EPSILON).y


def keras_rms_norm(x: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    return keras.ops.rms_normalization(x, scale, axis=-1, epsilon=EPSILON)


def _torch_layer_norm(
    x: pytorch.Tensor, scale: pytorch.Tensor, offset: pytorch.Tensor
) -> pytorch.Tensor:
    return pytorch.functional.layer_norm(x, scale.shape, scale, offset, EPSILON)


def _torch_rms_norm(x: pytorch.Tensor, scale: pytorch.Tensor) -> pytorch.Tensor:
    return pytorch.functional.rms_norm(x, scale.shape, scale, EPSILON)


def measure_layer_norm(rows: int, columns: int, **options: Any) -> list[measure.Result]:
    """Measures LayerNorm of rows; `options` are those of ops.compare."""
    return _of_shape(
        "LayerNorm", layer_norm, keras_layer_norm, _torch_layer_norm, 2, (rows, columns), **options
    )


def measure_rms_norm(rows: int, columns: int, **options: Any) -> list[measure.Result]:
    """Measures RmsNorm of rows; `options` are those of ops.compare."""
    return _of_shape(
        "RmsNorm", rms_norm, keras_rms_norm, _torch_rms_norm, 1, (rows, columns), **options
    )


def _of_shape(
    group: str,
    ours: Function,
    keras_function: Function,
    torch: pytorch.Function,
    parameters: int,
    shape: tuple[int, int],
    **options: Any,
) -> list[measure.Result]:
    results = []
    rng = np.random.default_rng(0)
    x, upstream = (tf.constant(rng.standard_normal(shape, dtype=np.float32)) for _ in range(2))
    inputs = [x] + [
        tf.constant(rng.standard_normal(shape[-1:], dtype=np.float32)) for _ in range(parameters)
    ]
    for case, by in measure.forward_and_backward(*range(len(inputs))):
        # Forward moves x and y; backward moves x, dy and dx.
        moved = (5 if by else 2) * 4 * x.shape.num_elements()
        results += ops.compare(
            group,
            f"{case}, {shape[0]} x {shape[1]}",
            ours,
            inputs,
            {
                "Keras, tf.function": ops.Rival(keras_function, bar=STOCK_BAR if by else None),
                "Keras, jit_compile": ops.Rival(
                    keras_function, bar=XLA_BAR if by else None, mode="jit_compile"
                ),
            },
            limits.Needs(moved),
            {torch.__name__.removeprefix("_torch_"): ops.Torch(torch)},
            by,
            upstream,
            **options,
        )
    return results


def run() -> list[measure.Result]:
    return [
        result
        for norm in (measure_layer_norm, measure_rms_norm)
        for shape in SHAPES
        for result in norm(*shape)
    ]
