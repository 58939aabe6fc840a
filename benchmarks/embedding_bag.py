# SPDX-License-Identifier: Apache-2.0
"""EmbeddingBag forward and backward against gather, multiply and reduce."""

import functools

import measure
import numpy as np
import pytorch
import tensorflow as tf

import tensorflow_ext as tfe

# (bags, bag size, rows, width)
SHAPES = ((1024, 50, 20_000, 64), (512, 100, 20_000, 256))
RIVAL = "gather, multiply, reduce"

Inputs = tuple[tf.Tensor, tf.Tensor, tf.Tensor]


def _gathered(indices: tf.Tensor, params: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    rows = tf.gather(params, indices)
    return tf.reduce_sum(rows * weights[..., tf.newaxis], axis=1)


def _torch(
    indices: pytorch.Tensor, params: pytorch.Tensor, weights: pytorch.Tensor
) -> pytorch.Tensor:
    return pytorch.functional.embedding_bag(
        indices, params, mode="sum", per_sample_weights=weights
    )


def _to_indexed_slices(inputs: Inputs) -> measure.Work:
    """A step whose gradient of params is not summed by row."""

    @tf.function(autograph=False)
    def run(*inputs: tf.Tensor) -> object:
        with tf.GradientTape() as tape:
            tape.watch(inputs[1:])
            result = _gathered(*inputs)
        return result, tape.gradient(result, inputs[1:])

    return functools.partial(run, *inputs)


def _run(bags: int, bag_size: int, rows: int, width: int) -> list[measure.Result]:
    rng = np.random.default_rng(0)
    inputs = (
        tf.constant(rng.integers(0, rows, (bags, bag_size)), tf.int32),
        tf.constant(rng.random((rows, width), dtype=np.float32)),
        tf.constant(rng.random((bags, bag_size), dtype=np.float32)),
    )
    results = []
    for case, by in measure.forward_and_backward(1, 2):
        side = measure.contender(tfe.embedding_bag, inputs, by)
        rivals = {
            RIVAL: measure.contender(_gathered, inputs, by, 1 / 3),
            f"{RIVAL}, jit_compile": measure.contender(
                _gathered, inputs, by, mode="jit_compile"
            ),
        }
        if by:
            rivals[f"{RIVAL}, to IndexedSlices"] = measure.Contender(
                _to_indexed_slices(inputs)
            )
        rivals |= pytorch.contenders("embedding_bag", _torch, inputs, by, side.work)
        results += measure.compare(
            "EmbeddingBag",
            f"{case}, {bags} bags of {bag_size} from {rows} x {width}",
            side,
            rivals,
        )
    return results


def run() -> list[measure.Result]:
    return [result for shape in SHAPES for result in _run(*shape)]
