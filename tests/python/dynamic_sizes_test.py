"""Ops under XLA with tensors of a dynamic size, which boolean_mask makes: they give the same
results as without XLA, or a clear error.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gradient_modes import compiled

import tensorflow_ext as tfe

ROIS = [[0, 0, 0, 5, 5], [1, 1, 1, 6, 7], [0, 2, 2, 4, 6], [1, 0, 3, 3, 7]]


def normal(*shape: int) -> tf.Tensor:
    return tf.random.stateless_normal(shape, [1, 2])


def gradients_of(f: Callable[..., Any], xs: Sequence[tf.Tensor]) -> list[Any]:
    """The results of f and their gradients by xs, some of which are cut off."""
    with tf.GradientTape() as tape:
        tape.watch(xs)
        ys = tf.nest.flatten(f(*xs))
        weighed = [tf.reduce_sum(tf.sin(y)) for y in ys if y.dtype.is_floating]
    found = tape.gradient(weighed, xs)
    return [*ys, *(tf.convert_to_tensor(dx) for dx in found if dx is not None)]


def shortened(f: Callable[..., Any], axes: Sequence[int | None]) -> Callable[..., Any]:
    """f of its arguments without some elements along an axis."""
    kept = tf.Variable([True, False, True] * 3)

    def cut(x: tf.Tensor, axis: int | None) -> tf.Tensor:
        if axis is None:
            return x
        mask = kept.read_value()[: x.shape[axis]]
        return tf.boolean_mask(x, mask, axis=axis)

    return lambda *xs: f(*map(cut, xs, axes))


align = functools.partial(tfe.roi_align, pooled_height=2, pooled_width=2)
pool = functools.partial(tfe.roi_pool, pooled_height=2, pooled_width=2, spatial_scale=1.0)
bag_mean = functools.partial(tfe.embedding_bag, combiner="mean")

IMAGES, IDS = normal(2, 8, 8, 3), tf.reshape(tf.range(24) % 10, [6, 4])
ONES, ZEROS = tf.ones([4]), tf.zeros([4])

# An op, its arguments, and the axes along which they are cut.
Calls = dict[str, tuple[Callable[..., Any], list[Any], list[int | None]]]
RIGHT: Calls = {
    "gelu": (tfe.gelu, [normal(3, 6)], [1]),
    "floor_mod": (tfe.floor_mod, [normal(6, 4), normal(4)], [0, None]),
    "multiply_left": (tfe.multiply_left, [normal(1, 4), normal(6, 4)], [None, 0]),
    "swiglu": (tfe.swiglu, [normal(3, 6), normal(3, 6)], [1, 1]),
    "clip_gradient": (lambda x: tfe.clip_gradient(x, -0.5, 0.5), [normal(6)], [0]),
    "clip_by_global_norm": (
        lambda x, y: tfe.clip_by_global_norm([x, y], 0.5)[0],
        [normal(6, 4), normal(3)],
        [0, None],
    ),
    "layer_norm": (tfe.layer_norm, [normal(6, 4), ONES, ZEROS], [0, None, None]),
    "rms_norm": (tfe.rms_norm, [normal(6, 4), ONES], [0, None]),
    "rrelu": (lambda x: tfe.rrelu(x, seed=[1, 2]), [normal(6, 4)], [0]),
    "sparsemax": (tfe.sparsemax, [normal(6, 4)], [0]),
    "sparsemax_columns": (tfe.sparsemax, [normal(3, 6)], [1]),
    "embedding_bag": (tfe.embedding_bag, [IDS, normal(10, 3)], [1, None]),
    "embedding_bag_mean": (bag_mean, [IDS, normal(10, 3)], [0, None]),
}
REFUSED: Calls = {
    "ZeroOut: argument 'to_zero'": (tfe.zero_out, [normal(6, 4)], [0]),
    "LayerNorm: argument 'x'": (tfe.layer_norm, [normal(3, 6, 4), ONES, ZEROS], [1, None, None]),
    "RmsNorm: argument 'x'": (tfe.rms_norm, [normal(3, 6), tf.ones([6])], [1, 0]),
    "Sparsemax: argument 'logits'": (tfe.sparsemax, [normal(6, 3, 4)], [0]),
    "Rrelu: argument 'x'": (lambda x: tfe.rrelu(x, seed=[1, 2]), [normal(3, 6)], [1]),
    "EmbeddingBag: argument 'indices'": (bag_mean, [IDS, normal(10, 3)], [1, None]),
    "EmbeddingBag: argument 'params'": (tfe.embedding_bag, [IDS, normal(6, 3)], [None, 0]),
    "RoiAlign: argument 'rois'": (align, [IMAGES, tf.constant(ROIS, tf.float32)], [None, 0]),
    "RoiPool: argument 'rois'": (pool, [IMAGES, tf.constant(ROIS, tf.float32)], [None, 0]),
    "Resampler: argument 'data'": (tfe.resampler, [normal(6, 8, 8, 3), normal(6, 5, 2)], [0, 0]),
    "Resampler: argument 'warp'": (tfe.resampler, [IMAGES, tf.abs(normal(2, 6, 2))], [None, 1]),
    "CorrelationCost: argument 'a'": (
        lambda a, b: tfe.correlation_cost(a, b, 1, 1, 1, 1, 1),
        [normal(6, 5, 5, 3), normal(6, 5, 5, 3)],
        [0, 0],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str) -> None:
    op, inputs, axes = RIGHT[name]
    f = shortened(op, axes)
    expected = gradients_of(f, inputs)
    found = compiled(lambda *xs: gradients_of(f, xs))(*inputs)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    op, inputs, axes = REFUSED[name]
    expected = rf"TfExt>{name} has a dynamic size along axis \d, at most \d; .* Pad it"
    with pytest.raises(tf.errors.UnimplementedError, match=expected):
        compiled(shortened(op, axes))(*inputs)
