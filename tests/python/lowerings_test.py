"""Lowerings for XLA whose loops differ from the kernels'.

RoiPool visits a bin's pixels in another order and finds the same maxima at the same places.
Resampler has different loops for few and for many channels. RoiAlign finds pixels by its samples
or by their range, and its samples are on the same side of an image's edge. ClipByGlobalNorm,
LayerNorm and RmsNorm sum many floats in another way than few. The sigmoid is computed from its
smaller half. FloorMod reduces large quotients in steps.

XLA takes half a second or more to compile a graph, so one graph takes the inputs of several cases,
and types and shapes that lead to the same loops take turns.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from commit_sampling import turn_of_commit
from gradient_modes import compiled, with_gradients

import tensorflow_ext as tfe


def _values(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    if kind == "distinct":
        return rng.normal(size=shape)
    values = rng.integers(-2, 3, size=shape).astype(float)
    if kind == "NaN and infinity":
        values[rng.random(shape) < 0.2] = -np.inf
        values[rng.random(shape) < 0.05] = np.nan
    return values


def _compiled_and_kernel(
    function: Callable, *problems: tuple[list[tf.Tensor], Any]
) -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
    """Each output and each gradient by an input, from XLA and from the kernels.

    A problem is inputs and upstream gradients; all have the same shapes.
    """

    def run(inputs: list[tf.Tensor], upstream: Any) -> list[tf.Tensor]:
        return with_gradients(function, inputs, upstream)

    by_xla = compiled(run)
    for problem in problems:
        yield from zip(by_xla(*problem), run(*problem), strict=True)


def _regions(rng: np.random.Generator, images: int, size: int) -> np.ndarray:
    """Regions of all sizes, also beyond the images: the whole image, a point, NaN, no image."""
    rois = np.hstack(
        [rng.integers(0, images, (40, 1)), rng.uniform(-0.5 * size, 1.4 * size, (40, 4))]
    )
    rois[:3, 1:] = [-9, -9, 200, 200]
    rois[3:6, 3:] = rois[3:6, 1:3]
    rois[6, 1] = np.nan
    return rois


# [N, H, W, C] and the bins: larger than the squares of 8 pixels that XLA's loop takes at a time,
# smaller, and with different sides.
_POOLED = [
    *turn_of_commit(
        "roi_pool of many squares",
        [
            *(((2, 20, 30, 3), (3, 4), dtype) for dtype in ("float32", "float16", "bfloat16")),
            ((1, 40, 40, 2), (1, 1), "float64"),
        ],
    ),
    *turn_of_commit(
        "roi_pool of few squares",
        [
            ((2, 7, 5, 2), (7, 7), "float32"),
            ((1, 1, 9, 4), (2, 2), "float32"),
            ((2, 3, 64, 3), (1, 3), "float32"),
        ],
    ),
]


@pytest.mark.parametrize(("shape", "bins", "dtype"), _POOLED)
def test_roi_pool(shape: tuple[int, ...], bins: tuple[int, int], dtype: str) -> None:
    def pool(data: tf.Tensor, rois: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        height, width = bins
        return tfe.roi_pool(data, rois, pooled_height=height, pooled_width=width, spatial_scale=0.7)

    # XLA makes another loop if nobody needs argmax.
    alone = compiled(lambda *inputs: pool(*inputs)[0])
    rng = np.random.default_rng(0)
    rois = tf.constant(_regions(rng, shape[0], max(shape[1:3])), dtype)
    for kind in ("distinct", "equal", "NaN and infinity"):
        data = tf.constant(_values(rng, shape, kind), dtype)
        expected, expected_argmax = pool(data, rois)
        pooled, argmax = compiled(pool)(data, rois)
        np.testing.assert_array_equal(argmax, expected_argmax)
        for found in (pooled, alone(data, rois)):
            np.testing.assert_array_equal(tf.cast(found, tf.float64), tf.cast(expected, tf.float64))


def test_roi_pool_without_images() -> None:
    """An error on the CPU; here an empty region."""
    rois = tf.constant([[2.0, 0, 0, 3, 3], [-1.0, 0, 0, 3, 3]])

    pooled, argmax = compiled(tfe.roi_pool)(tf.ones([2, 8, 8, 3]), rois, 2, 2, 1.0)
    np.testing.assert_array_equal(pooled, np.zeros([2, 2, 2, 3]))
    np.testing.assert_array_equal(argmax, np.full([2, 2, 2, 3], -1))


def _points(rng: np.random.Generator, shape: tuple[int, ...], size: int) -> np.ndarray:
    """Points between pixels, at pixels, at and beyond the border, nowhere."""
    points = rng.uniform(-2, size + 1, shape)
    flat = points.reshape(-1, 2)
    flat[::3] = np.round(flat[::3])
    flat[1] = [np.nan, 1.5]
    flat[2] = [1.5, np.inf]
    flat[4] = [-1e30, 1e30]
    return points


@pytest.mark.parametrize(
    ("channels", "points"),
    [
        (channels, points)
        for channels in (1, 3, 8, 9, 40)
        for points in turn_of_commit(f"resampler {channels}", [(7,), (2, 20), (2, 4, 6)])
    ],
)
def test_resampler(points: tuple[int, ...], channels: int) -> None:
    """A pixel without weight does not count, whatever its value."""
    rng = np.random.default_rng(1)
    upstream = tf.constant(rng.normal(size=(*points, channels)))

    def run(data: tf.Tensor, warp: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as outer:
            outer.watch(warp)
            first = with_gradients(tfe.resampler, [data, warp], upstream)
        return [*first, outer.gradient(first[1], warp)]

    by_xla = compiled(run)
    for kind in ("distinct", "NaN and infinity"):
        data = tf.constant(_values(rng, (points[0], 5, 4, channels), kind))
        warp = tf.constant(_points(rng, (*points, 2), 5))
        for found, expected in zip(by_xla(data, warp), run(data, warp), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def _regions_with_a_sample_on_an_edge(
    rng: np.random.Generator, bins: int, samples: int, pixels: int, offset: float
) -> np.ndarray:
    """One sample of each of 2,000 regions is at -1 or at the last edge, up to rounding,
    which decides whether it counts."""
    count = bins * samples
    size = rng.uniform(count - 0.9 * bins, count - 0.1 * bins, 2000)
    edge = rng.choice([-1.0, pixels], 2000)
    top = edge - (rng.integers(0, count, 2000) + 0.5) * size / count
    rois = np.zeros((2000, 5))
    rois[:, 3] = 3
    rois[:, 2], rois[:, 4] = top + offset, top + size + offset
    return rois


@pytest.mark.parametrize(
    ("bins", "samples", "ratio", "aligned", "scale", "dtype"),
    [
        (*sampling, scale, dtype)
        for sampling in [
            *((7, 3, 3, True), (5, 2, 2, False), (6, 1, 1, False)),
            *((3, 3, 0, True), (1, 4, 0, False)),
        ]
        for scale, dtype in turn_of_commit(
            f"roi_align {sampling}", [*itertools.product([0.0625, 0.7], ["float32", "float64"])]
        )
    ],
)
def test_roi_align_on_an_edge(
    bins: int, samples: int, ratio: int, aligned: bool, scale: float, dtype: str
) -> None:
    def align(data: tf.Tensor, rois: tf.Tensor) -> tf.Tensor:
        return tfe.roi_align(
            data,
            rois,
            pooled_height=bins,
            pooled_width=1,
            spatial_scale=scale,
            sampling_ratio=ratio,
            aligned=aligned,
        )

    rng = np.random.default_rng(0)
    rois = _regions_with_a_sample_on_an_edge(rng, bins, samples, 6, 0.5 * aligned)
    rois[:, 1:] /= scale
    rois = tf.constant(rois, dtype)
    data = tf.ones([1, 6, 5, 1], dtype)
    np.testing.assert_allclose(compiled(align)(data, rois), align(data, rois), rtol=1e-5)


@pytest.mark.parametrize(
    ("ratio", "aligned", "kind", "dtype"),
    [
        (*samples, *of)
        for samples in [(0, True), (1, False), (2, True), (5, False)]
        for of in turn_of_commit(
            f"roi_align {samples}", [("distinct", "float32"), ("NaN and infinity", "float64")]
        )
    ],
)
def test_roi_align(ratio: int, aligned: bool, kind: str, dtype: str) -> None:
    """Samples close to each other, and samples with many pixels between them."""

    def align(data: tf.Tensor) -> tf.Tensor:
        return tfe.roi_align(data, rois, 3, 2, sampling_ratio=ratio, aligned=aligned)

    rng = np.random.default_rng(ratio)
    data = tf.constant(_values(rng, (2, 40, 31, 3), kind), dtype)
    regions = _regions(rng, 2, 40)
    # Two of 5 samples are at -0.9 and at 1.6, and touch one pixel.
    regions[7, 1:] = [-2.15, -2.15, 22.85, 35.35]
    rois = tf.constant(regions, dtype)
    upstream = tf.constant(rng.normal(size=(40, 3, 2, 3)), dtype)
    for actual, expected in _compiled_and_kernel(align, ([data], upstream)):
        np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=2e-5)


_EPSILONS = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52}


# 16 columns of values are summed at a time: exactly 16, and a remainder.
@pytest.mark.parametrize("size", [2**14, 2**14 + 37])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_clip_by_global_norm_of_many(dtype: str, size: int) -> None:
    rng = np.random.default_rng(0)

    def problem(magnitude: float) -> tuple[list[tf.Tensor], Any]:
        values, upstream = (
            [tf.cast(rng.normal(size=count) * by, dtype) for count in (size, 5)]
            for by in (magnitude, 1)
        )
        clip_norm = tf.cast(0.7 * magnitude, dtype)
        return [*values, clip_norm], (upstream, tf.constant(0.3, dtype))

    def clip(*inputs: tf.Tensor) -> tuple[list[tf.Tensor], tf.Tensor]:
        return tuple(tfe.clip_by_global_norm(inputs[:-1], inputs[-1]))

    tolerance = 4 * float(2**-8 if dtype == "bfloat16" else _EPSILONS[dtype])
    for got, want in _compiled_and_kernel(clip, *map(problem, (1.0, 1e-30, 1e30))):
        # Errors are relative to the largest value, because many values of either sign cancel.
        largest = float(tf.reduce_max(tf.abs(want)))
        assert largest > 0
        np.testing.assert_allclose(
            tf.cast(got, "float64"),
            tf.cast(want, "float64"),
            rtol=0,
            atol=max(largest, np.sqrt(size) if got.shape.rank == 0 else 0) * tolerance,
        )


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_clip_by_global_norm_of_many_not_finite(value: float) -> None:
    values = np.ones(2**14 + 1, np.float32)
    values[7] = value
    clipped, norm = compiled(tfe.clip_by_global_norm)([tf.constant(values)], tf.constant(1.0))
    np.testing.assert_equal(norm.numpy(), abs(value))
    assert np.isnan(clipped[0]).all()


def test_clip_by_global_norm_of_many_zeros() -> None:
    clipped, norm = compiled(tfe.clip_by_global_norm)([tf.zeros(2**14)], tf.constant(1.0))
    assert norm == 0
    assert not np.any(clipped[0])


# On a CPU, products sum rows of up to 2^14 columns, but not longer ones.
@pytest.mark.parametrize(
    ("columns", "centered", "dtype"),
    [
        (*of, dtype)
        for of in itertools.product([1, 7, 64, 2**14, 2**14 + 1], [True, False])
        for dtype in turn_of_commit(f"norm {of}", [*_EPSILONS])
    ],
)
def test_norms(centered: bool, dtype: str, columns: int) -> None:
    """Values and gradients equal those of the kernels."""
    rng = np.random.default_rng(0)
    x = tf.constant(1 + 3 * rng.normal(size=(5, columns)), dtype)
    scale, offset = (tf.constant(rng.normal(size=columns), dtype) for _ in range(2))
    inputs = [x, scale, offset] if centered else [x, scale]
    upstream = tf.constant(rng.normal(size=x.shape), dtype)
    norm = tfe.layer_norm if centered else tfe.rms_norm

    tolerance = 8 * _EPSILONS[dtype]
    for actual, kernel in _compiled_and_kernel(lambda *x: norm(*x)[0], (inputs, upstream)):
        expected = tf.cast(kernel, tf.float64)
        np.testing.assert_allclose(
            tf.cast(actual, tf.float64),
            expected,
            rtol=0,
            atol=tolerance * max(1, np.abs(expected).max()),
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_swiglu_far_from_zero(dtype: str) -> None:
    """The error is relative to the value, also where the sigmoid or its distance to 1 is small."""
    limits = tf.constant([-np.inf, -1e30, -60, -20, -1, -0.0, 0, 3, 20, 60, 1e30], dtype)
    gate = tf.concat([limits, [np.inf, np.nan]], 0)
    for actual, kernel in _compiled_and_kernel(tfe.swiglu, ([gate, tf.ones_like(gate)], None)):
        np.testing.assert_allclose(actual, kernel, rtol=8 * _EPSILONS[dtype], atol=0)


# The largest quotients: the first are all found at once; the last, for floats, take ten steps.
@pytest.mark.parametrize("dtype", _EPSILONS)
def test_floor_mod(dtype: str) -> None:
    """Remainders are exact, like the kernels'."""
    rng = np.random.default_rng(0)
    special = np.array([0, -0.0, 1, -1, 3, np.inf, -np.inf, np.nan])

    def number(sign: int, exponent: int) -> tf.Tensor:
        # Whole numbers, so many remainders are 0.
        whole = rng.integers(1, 100, size=4000) * rng.choice([-1, 1], size=4000)
        real = np.where(rng.random(4000) < 0.5, whole, rng.normal(size=4000))
        scaled = real * 2.0 ** (sign * rng.integers(0, exponent, size=4000))
        return tf.constant(scaled, dtype)

    def problem(exponent: int) -> tuple[list[tf.Tensor], Any]:
        x, y = number(1, exponent), number(-1, exponent)
        x = tf.concat([x, tf.cast(np.repeat(special, 8), dtype), x[:8]], 0)
        y = tf.concat([y, tf.cast(np.tile(special, 8), dtype), tf.zeros(8, dtype)], 0)
        return [x, y], None

    pairs = [*_compiled_and_kernel(tfe.floor_mod, *map(problem, (8, 30, 120)))]
    # The values, and the gradients by y.
    for value, gradient in zip(pairs[::3], pairs[2::3], strict=True):
        value, gradient = ([tf.cast(x, tf.float64) for x in both] for both in (value, gradient))
        np.testing.assert_array_equal(*value)
        np.testing.assert_array_equal(1 / value[0], 1 / value[1])  # the signs of zeros
        np.testing.assert_allclose(*gradient, rtol=2 * _EPSILONS[dtype], atol=0)


def test_embedding_bag_skips_invalid_indices() -> None:
    indices, weights = tf.constant([[-1, 1, 3]]), tf.constant([[2.0, 3.0, 5.0]])
    params = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    @compiled
    def run() -> list[tf.Tensor]:
        return with_gradients(lambda *x: tfe.embedding_bag(indices, *x), [params, weights])

    y, d_params, d_weights = run()
    np.testing.assert_array_equal(y, [[9, 12]])
    np.testing.assert_array_equal(d_params, [[0, 0], [3, 3], [0, 0]])
    np.testing.assert_array_equal(d_weights, [[0, 7, 0]])
