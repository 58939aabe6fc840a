"""EmbeddingBag forward and backward against gather, multiply and reduce."""

import dataclasses
import functools
from typing import Any

import limits
import measure
import numpy as np
import ops
import pytorch
import tensorflow as tf

import tensorflow_ext as tfe

# (bags, bag size, rows, width)
SHAPES = ((1024, 50, 20_000, 64), (512, 100, 20_000, 256))
RIVAL = "gather, multiply, reduce"

Inputs = tuple[tf.Tensor, tf.Tensor, tf.Tensor]


def gathered(indices: tf.Tensor, params: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    rows = tf.gather(params, indices)
    return tf.reduce_sum(rows * weights[..., tf.newaxis], axis=1)


def _torch(
    indices: pytorch.Tensor, params: pytorch.Tensor, weights: pytorch.Tensor
) -> pytorch.Tensor:
    return pytorch.functional.embedding_bag(indices, params, mode="sum", per_sample_weights=weights)


def _to_indexed_slices(inputs: Inputs) -> measure.Work:
    """A step whose gradient of params is not summed by row."""

    @tf.function(autograph=False)
    def run(*inputs: tf.Tensor) -> object:
        with tf.GradientTape() as tape:
            tape.watch(inputs[1:])
            result = gathered(*inputs)
        return result, tape.gradient(result, inputs[1:])

    return functools.partial(run, *inputs)


def make_inputs(
    bags: int, bag_size: int, rows: int, width: int, dtype: tf.DType = tf.float32
) -> Inputs:
    """Indices, params and weights."""
    rng = np.random.default_rng(0)
    return (
        tf.constant(rng.integers(0, rows, (bags, bag_size)), tf.int32),
        tf.cast(rng.random((rows, width), dtype=np.float32), dtype),
        tf.cast(rng.random((bags, bag_size), dtype=np.float32), dtype),
    )


def of_shape(
    bags: int, bag_size: int, rows: int, width: int, dtype: tf.DType = tf.float32, **options: Any
) -> list[measure.Result]:
    """Measures bags of one size from a table; `options` are those of ops.compare."""
    inputs = make_inputs(bags, bag_size, rows, width, dtype)
    read = bags * bag_size * (dtype.size * (width + 1) + tf.int32.size)
    written = dtype.size * bags * width
    group, torch = "EmbeddingBag", ops.Torch(_torch)
    if dtype != tf.float32:
        group += f" of {dtype.name}"
        # Both sides round each result.
        torch = dataclasses.replace(torch, tolerance=1e-2)
    results = []
    for case, by in measure.forward_and_backward(1, 2):
        rivals = {
            RIVAL: ops.Rival(gathered, bar=1 / 3),
            f"{RIVAL}, jit_compile": ops.Rival(gathered, bar=1.0, mode="jit_compile"),
        }
        # The backward pass reads each named row again, for its weight, and writes the gradient of
        # the table.
        moved = read + written
        if by:
            moved += read + written + dtype.size * rows * width
        name = f"{case}, {bags} bags of {bag_size} from {rows} x {width}"
        results += ops.compare(
            group,
            name,
            tfe.embedding_bag,
            inputs,
            rivals,
            limits.Needs(moved),
            {"embedding_bag": torch},
            by,
            **options,
        )
    return results


def _against_indexed_slices(*shape: int) -> list[measure.Result]:
    """Compares with TensorFlow's unsummed gradient of the table."""
    inputs = make_inputs(*shape)
    return measure.compare(
        "EmbeddingBag",
        "forward + backward, {} bags of {} from {} x {}".format(*shape),
        measure.contender(tfe.embedding_bag, inputs, (1, 2)),
        {f"{RIVAL}, to IndexedSlices": measure.Contender(_to_indexed_slices(inputs))},
    )


def run() -> list[measure.Result]:
    return [
        result
        for shape in SHAPES
        for result in (*of_shape(*shape), *_against_indexed_slices(*shape))
    ]
