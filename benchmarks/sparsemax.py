"""Sparsemax forward and backward against a composition of TensorFlow's ops, by sorting.
keras.ops.sparsemax is one too, but in Keras 3.15 it computes another function."""

import limits
import measure
import numpy as np
import reference_ops
import tensorflow as tf

import tensorflow_ext as tfe

SHAPES = ((1024, 10), (1024, 1000), (64, 32_000))
RIVAL = "sort, sum up, gather"
# Our time over the rival's; for the shortest rows most of it is the cost of a call.
BAR = 1.0


def of_shape(rows: int, columns: int) -> list[measure.Result]:
    """Measures rows of one length."""
    rng = np.random.default_rng(0)
    x, upstream = (
        tf.constant(rng.normal(size=(rows, columns)).astype(np.float32)) for _ in range(2)
    )
    results = []
    for case, by in measure.forward_and_backward(0):
        name = f"{case}, {rows} x {columns}"
        moved = (5 if by else 2) * 4 * rows * columns
        for mode in ("tf.function", "jit_compile"):
            ours = measure.contender(tfe.sparsemax, [x], by, None, upstream, mode)
            rivals = {
                f"{RIVAL}, {rival}": measure.contender(
                    reference_ops.sparsemax, [x], by, BAR if by else None, upstream, rival
                )
                for rival in ("tf.function", "jit_compile")
                if mode in ("tf.function", rival)
            }
            results += measure.compare(
                "Sparsemax", f"{name}, {mode}", ours, rivals, needs=limits.Needs(moved)
            )
    return results


def run() -> list[measure.Result]:
    return [result for shape in SHAPES for result in of_shape(*shape)]
