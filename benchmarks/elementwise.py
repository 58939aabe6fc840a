"""Every op that takes tensors of any shape, forward and backward, against the same computation in
TensorFlow's own ops: the comparisons of tests/python, on large tensors."""

import limits
import measure
import numpy as np
import tensorflow as tf
from comparisons import COMPARISONS, Comparison
from kernels import MEGABYTES

# Excludes the variant without clipping: tensors this large are always clipped.
LARGE = [
    comparison
    for comparison in COMPARISONS
    if comparison.any_shape and comparison.name != "clip_by_global_norm, not clipped"
]

_COLUMNS = 1024


def make_inputs(comparison: Comparison, megabytes: int) -> list[tf.Tensor]:
    """Normally distributed values with the mean and deviation of the compared inputs, because a
    processor would learn the branches of few values. Rows and the vectors broadcast over them are
    as long as in a network's layer; scalars stay as they are."""
    rows = megabytes * 2**20 // 4 // _COLUMNS
    rng = np.random.default_rng(0)

    def make(x: np.ndarray) -> np.ndarray:
        if x.ndim == 0:
            return x
        shape = [rows, *x.shape[1:]] if x.ndim > 1 else [_COLUMNS]
        shape[-1] = _COLUMNS
        return rng.normal(x.mean(), x.std(), shape)

    return [tf.constant(make(x), tf.float32) for x in comparison.inputs]


def _needs(inputs: list[tf.Tensor], output: tf.Tensor, by: list[int]) -> limits.Needs:
    """Inputs and output; then inputs, upstream gradient and gradients."""
    forward = [*inputs, output]
    values = [*forward, *forward, *(inputs[i] for i in by)]
    return limits.Needs(sum(4 * value.shape.num_elements() for value in values))


def _compare(comparison: Comparison) -> list[measure.Result]:
    inputs = make_inputs(comparison, MEGABYTES)
    upstream = tf.ones_like(comparison.function(*inputs))
    by = [i for i in range(len(inputs)) if i not in comparison.without_gradient]

    def contender(function: object, mode: str) -> measure.Contender:
        return measure.contender(function, inputs, by, None, upstream, mode)

    return measure.compare(
        f"any shape, {MEGABYTES} MB float",
        f"{comparison.name}, forward + backward",
        contender(comparison.function, "tf.function"),
        {
            f"TensorFlow's ops, {mode}": contender(comparison.reference, mode)
            for mode in ("tf.function", "jit_compile")
        },
        needs=_needs(inputs, upstream, by),
    )


def run() -> list[measure.Result]:
    return [result for comparison in LARGE for result in _compare(comparison)]
