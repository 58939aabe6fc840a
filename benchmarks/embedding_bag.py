# SPDX-License-Identifier: Apache-2.0
"""EmbeddingBag forward and backward against gather, multiply and reduce."""

import functools
from collections.abc import Callable

import measure
import memory
import numpy as np
import tensorflow as tf

import tensorflow_ext as tfe

# (bags, bag size, rows, width)
SHAPES = ((1024, 50, 20_000, 64), (512, 100, 20_000, 256))


RIVAL = "gather, multiply, reduce"

Function = Callable[..., tf.Tensor]
Inputs = tuple[tf.Tensor, tf.Tensor, tf.Tensor]
Work = Callable[[], object]


def _gathered(indices: tf.Tensor, params: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    rows = tf.gather(params, indices)
    return tf.reduce_sum(rows * weights[..., tf.newaxis], axis=1)


def _forward(function: Function, inputs: Inputs, jit: bool = False) -> Work:
    return functools.partial(tf.function(function, jit_compile=jit), *inputs)


def _backward(
    function: Function, inputs: Inputs, jit: bool = False, dense: bool = True
) -> Work:
    def step() -> object:
        with tf.GradientTape() as tape:
            tape.watch(inputs[1:])
            result = function(*inputs)
        gradients = tape.gradient(result, inputs[1:])
        if dense:
            gradients = tf.nest.map_structure(tf.convert_to_tensor, gradients)
        return result, gradients

    return tf.function(step, jit_compile=jit, autograph=False)


def _run(bags: int, bag_size: int, rows: int, width: int) -> list[measure.Result]:
    rng = np.random.default_rng(0)
    inputs = (
        tf.constant(rng.integers(0, rows, (bags, bag_size)), tf.int32),
        tf.constant(rng.random((rows, width), dtype=np.float32)),
        tf.constant(rng.random((bags, bag_size), dtype=np.float32)),
    )
    # By rival: what it runs, and the bar.
    forward = {
        RIVAL: (_forward(_gathered, inputs), 1 / 3),
        f"{RIVAL}, jit_compile": (_forward(_gathered, inputs, jit=True), None),
    }
    backward = {
        RIVAL: (_backward(_gathered, inputs), 1 / 3),
        f"{RIVAL}, jit_compile": (_backward(_gathered, inputs, jit=True), None),
        # The gradient of params is then not summed by row.
        f"{RIVAL}, to IndexedSlices": (_backward(_gathered, inputs, dense=False), None),
    }
    results = []
    for case, ours, rivals, by in (
        ("forward", _forward(tfe.embedding_bag, inputs), forward, ()),
        ("forward + backward", _backward(tfe.embedding_bag, inputs), backward, (1, 2)),
    ):
        note = memory.beside(tfe.embedding_bag, _gathered, inputs, by)
        work = {"ours": ours, **{name: rival for name, (rival, _) in rivals.items()}}
        times = measure.interleave(work)
        for name, (_, bar) in rivals.items():
            results.append(
                measure.Result(
                    "EmbeddingBag",
                    f"{case}, {bags} bags of {bag_size} from {rows} x {width}",
                    measure.median(times, "ours"),
                    name,
                    measure.ratio(times, "ours", name),
                    bar,
                    note if name == RIVAL else "",
                )
            )
    return results


def run() -> list[measure.Result]:
    return [result for shape in SHAPES for result in _run(*shape)]
