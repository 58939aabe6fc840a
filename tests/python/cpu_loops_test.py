"""Ops whose CPU kernels have special loops for some shapes.

`resampler` locates points in blocks if there are few channels. `embedding_bag` keeps the sums of a
row in as many registers as its width fills, `roi_pool` the maxima of as many channels, and
`correlation_cost` the sums of as many displacements as there are. Results larger than the caches
are written past them.
"""

import functools
from collections.abc import Callable

import numpy as np
import processes
import pytest
import reference_ops
import tensorflow as tf
from commit_sampling import turn_of_commit
from gradient_modes import with_gradients

import tensorflow_ext as tfe

_RNG = np.random.default_rng(0)
_TYPES = (tf.float16, tf.bfloat16, tf.float32, tf.float64)
# For results of about 1.
_TOLERANCES = dict(zip(_TYPES, (1e-2, 8e-2, 1e-5, 1e-13), strict=True))

every_type = pytest.mark.parametrize("dtype", _TYPES, ids=lambda dtype: dtype.name)
# More than 8 use the loops for many.
every_channel_count = pytest.mark.parametrize("channels", range(1, 10))


def _points(images: int, count: int, width: int, height: int) -> np.ndarray:
    """Points around the edges and outside, none on a line of the pixel grid, where
    the slope changes; exact in every type."""
    size = np.array([width, height])
    cells = _RNG.integers(-2, size + 2, (images, count, 2))
    return cells + _RNG.integers(1, 8, cells.shape) / 8


def _assert_close(
    function: Callable,
    reference: Callable,
    values: list[np.ndarray],
    upstream: np.ndarray,
    dtype: tf.DType,
) -> None:
    """Compares values and gradients with those of the reference in double precision."""
    inputs = [tf.cast(value, dtype) for value in values]
    dy = tf.cast(upstream, dtype)
    exact = [tf.cast(value, tf.float64) for value in (*inputs, dy)]
    actual = with_gradients(function, inputs, dy)
    expected = with_gradients(reference, exact[:-1], exact[-1])
    for value, right in zip(actual, expected, strict=True):
        assert value.dtype == dtype
        scale = max(1, np.abs(right).max(initial=0))
        np.testing.assert_allclose(
            tf.cast(value, tf.float64), right, rtol=0, atol=_TOLERANCES[dtype] * scale
        )


@every_type
@every_channel_count
@pytest.mark.parametrize(
    ("count", "width", "height"), [(1, 4, 3), (63, 1, 7), (64, 7, 1), (65, 9, 8), (200, 5, 4)]
)
def test_resampler(count: int, width: int, height: int, channels: int, dtype: tf.DType) -> None:
    data = _RNG.normal(size=(2, height, width, channels))
    warp = _points(2, count, width, height)
    upstream = _RNG.normal(size=(2, count, channels))
    _assert_close(tfe.resampler, reference_ops.resampler, [data, warp], upstream, dtype)


@every_type
@every_channel_count
def test_resampler_at_pixels(channels: int, dtype: tf.DType) -> None:
    """At each pixel, also the last one, the result is exactly that pixel's value."""
    data = tf.cast(_RNG.normal(size=(2, 6, 5, channels)), dtype)
    x, y = np.meshgrid(np.arange(5), np.arange(6))
    grid = tf.cast(np.stack([[x, y]] * 2).transpose(0, 2, 3, 1), dtype)
    upstream = tf.cast(_RNG.normal(size=data.shape), dtype)
    value, dx, _ = with_gradients(tfe.resampler, [data, grid], upstream)
    np.testing.assert_array_equal(value, data)
    np.testing.assert_array_equal(dx, upstream)


@every_type
@every_channel_count
def test_resampler_of_weight_0(channels: int, dtype: tf.DType) -> None:
    """A pixel of weight 0 is not read, and nothing is added to it."""
    data = np.ones((1, 2, 3, channels))
    data[:, :, 1:] = np.inf
    data[:, 1] = np.nan
    at_first = tf.zeros([1, 70, 2], dtype)
    upstream = np.zeros((1, 70, channels))
    upstream[:, -1] = np.inf
    inputs = [tf.cast(data, dtype), at_first]
    value, dx, _ = with_gradients(tfe.resampler, inputs, tf.cast(upstream, dtype))
    np.testing.assert_array_equal(value, np.ones((1, 70, channels)))
    expected = np.zeros((1, 2, 3, channels))
    expected[0, 0, 0] = np.inf
    np.testing.assert_array_equal(dx, expected)


@every_channel_count
def test_resampler_of_empty_tensors(channels: int) -> None:
    """Every value of an empty image is 0."""
    for shape in ((1, 0, 3, channels), (1, 3, 0, channels)):
        data, warp = tf.zeros(shape), tf.zeros([1, 5, 2])
        value, dx, dw = with_gradients(tfe.resampler, [data, warp], tf.ones([1, 5, channels]))
        assert not np.any(value)
        assert dx.shape == shape
        assert not np.any(dw)


@every_type
@pytest.mark.parametrize("width", [*range(1, 20), 31, 33, 52, 64, 100, 128, 257, 515])
def test_embedding_bag(width: int, dtype: tf.DType) -> None:
    """Includes a bag that is longer than the prefetch distance, and an empty one."""
    for bags, size in ((3, 5), (2, 70), (1, 0)):
        indices = _RNG.integers(0, 6, (bags, size)).astype(np.int32)
        _assert_close(
            functools.partial(tfe.embedding_bag, indices),
            functools.partial(reference_ops.bags, indices),
            [_RNG.normal(size=(6, width)), _RNG.normal(size=(bags, size))],
            _RNG.normal(size=(bags, width)),
            dtype,
        )


@every_type
@every_channel_count
@pytest.mark.parametrize("width", [1, 2, 7, 33])
def test_correlation_cost(width: int, channels: int, dtype: tf.DType) -> None:
    shape = (2, 5, width, channels)
    _assert_close(
        functools.partial(tfe.correlation_cost, **reference_ops.DISPLACEMENTS),
        reference_ops.correlation_cost,
        [_RNG.normal(size=shape), _RNG.normal(size=shape)],
        _RNG.normal(size=(2, 4, (width + 3) // 2, 9)),
        dtype,
    )


@every_type
@pytest.mark.parametrize("channels", [*range(1, 10), 15, 16, 17, 31, 33, 50, 64, 65])
def test_roi_pool(channels: int, dtype: tf.DType) -> None:
    """The first of the largest, and the first NaN, on separate channels."""
    height, width = 7, 9
    data = _RNG.integers(-2, 3, (2, height, width, channels)).astype(np.float64)
    data[_RNG.random(data.shape) < 0.02] = np.nan
    data[_RNG.random(data.shape) < 0.02] = -np.inf
    # The bins are one pixel, two in a row, and the whole image.
    rois = [[0, 3, 2, 3, 2], [1, 5, 6, 6, 6], [1, 0, 0, width - 1, height - 1]]
    pooled, argmax = tfe.roi_pool(tf.cast(data, dtype), tf.constant(rois, dtype), 1, 1, 1.0)
    for r, (image, x1, y1, x2, y2) in enumerate(rois):
        region = data[image, y1 : y2 + 1, x1 : x2 + 1].reshape(-1, channels)
        first = np.argmax(region, axis=0)  # also the first NaN
        rows, columns = np.divmod(first, x2 - x1 + 1)
        pixels = (y1 + rows) * width + x1 + columns
        np.testing.assert_array_equal(
            tf.cast(pooled[r, 0, 0], tf.float64), region[first, range(channels)]
        )
        np.testing.assert_array_equal(argmax[r, 0, 0], pixels * channels + range(channels))


def test_roi_pool_grad_of_no_bins() -> None:
    """argmax may claim any number of rows without columns."""
    shape = [1, 2**30, 0, 2]
    gradient = tfe.raw_ops.roi_pool_grad(
        tf.zeros(shape), tf.zeros([1, 5]), tf.zeros(shape, tf.int32), [1, 3, 3, 2]
    )
    np.testing.assert_array_equal(gradient, np.zeros([1, 3, 3, 2]))


def test_embedding_bag_of_many_empty_bags() -> None:
    """Any number of them needs no work."""
    empty = tf.zeros([2**40, 0])
    params = tf.zeros([3, 0])
    indices = tf.zeros([2**40, 0], tf.int32)
    assert tfe.raw_ops.embedding_bag(indices, params, empty).shape == [2**40, 0]


# Prints a digest of values and gradients.
_DIGEST = """
    import hashlib, os, sys
    isa, threads = sys.argv[1:]
    os.environ["TENSORFLOW_EXT_MAX_ISA"] = isa
    import numpy as np
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(int(threads))
    import tensorflow_ext as tfe
    random = np.random.default_rng(0)
    digest = hashlib.sha256()
    def add(function, *values):
        for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64):
            inputs = [tf.cast(value, dtype) for value in values]
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                y = function(*inputs)
            upstream = tf.cast(np.arange(tf.size(y)) % 7 / 7, dtype)
            dy = tape.gradient(y, inputs, tf.reshape(upstream, y.shape))
            for tensor in (y, *dy):
                digest.update(tensor.numpy().tobytes())
    for shape in ((300_001,), (5, 100_003), (7,)):
        add(
            lambda x: tfe.rrelu(x, training=True, seed=(7, -8)),
            random.normal(size=shape),
        )
    for size in (1, 7, 33, 300, 3000):
        for scale in (0.01, 1, 10):
            add(tfe.sparsemax, random.normal(size=(20, size)) * scale)
    for channels in range(1, 10):
        for count in (5, 64, 20_001):
            warp = random.uniform(-2, 32, (2, count, 2))
            warp[:, ::3] = np.floor(warp[:, ::3])
            add(tfe.resampler, random.normal(size=(2, 20, 31, channels)), warp)
    for channels in (33, 100):
        warp = random.uniform(-2, 32, (2, 5000, 2))
        add(tfe.resampler, random.normal(size=(2, 20, 31, channels)), warp)
    rois = random.uniform(0, 30, (40, 5)) // [20, 2, 2, 1, 1]
    for channels in (3, 7, 30, 50, 100):
        add(
            lambda data: tfe.roi_pool(data, tf.cast(rois, data.dtype), 3, 2, 1.0)[0],
            random.normal(size=(2, 20, 31, channels)),
        )
    indices = random.integers(0, 50, (300, 21))
    for width in (*range(1, 20), 64, 100, 257):
        add(
            lambda params, weights: tfe.embedding_bag(indices, params, weights),
            random.normal(size=(50, width)),
            random.normal(size=indices.shape),
        )
    for width in (1, 7, 40):
        for attributes in ((1, 4, 1, 1, 4), (1, 3, 2, 3, 4), (3, 4, 1, 2, 5)):
            shape = (2, 9, width, 37)
            add(
                lambda a, b: tfe.correlation_cost(a, b, *attributes),
                random.normal(size=shape),
                random.normal(size=shape),
            )
    print(digest.hexdigest())
"""


def test_bits_depend_on_neither_threads_nor_instruction_set() -> None:
    ways = [
        ("avx512", 1),
        *turn_of_commit("threads", [("avx512", 2), ("avx512", 7)], "_cpu."),
        *turn_of_commit("instruction set", [("avx2", 3), ("baseline", 2)], "_cpu."),
    ]
    digests = {processes.run(_DIGEST, isa, str(threads)) for isa, threads in ways}
    assert len(digests) == 1


_WITH_LARGE_RESULTS = {
    "layer_norm": lambda x, row: tfe.layer_norm(x, row, 0.5 * row)[0],
    "rms_norm": lambda x, row: tfe.rms_norm(x, row)[0],
    "mish": lambda x, _: tfe.mish(x),
    "relu": lambda x, _: tfe.relu(x),
    "multiply_left": tfe.multiply_left,
    "floor_mod": tfe.floor_mod,
    "snake": tfe.snake,
}


# Results of more than 32 MiB are written past the caches; results half as large are not.
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, t) for name in _WITH_LARGE_RESULTS for t in turn_of_commit(f"large {name}", _TYPES)],
)
def test_results_beyond_the_caches(name: str, dtype: tf.DType) -> None:
    function = _WITH_LARGE_RESULTS[name]
    columns = 1024
    rows = 2 * (2**24 // columns // dtype.size + 3)
    x, upstream = (
        tf.cast(tf.random.stateless_normal((rows, columns), (0, seed)), dtype) for seed in range(2)
    )
    row = tf.cast(tf.linspace(0.5, 1.5, columns), dtype)
    whole, *halves = (
        with_gradients(lambda x: function(x, row), [part], dy)
        for part, dy in [(x, upstream), *zip(tf.split(x, 2), tf.split(upstream, 2), strict=True)]
    )
    bits = {2: tf.uint16, 4: tf.uint32, 8: tf.uint64}[dtype.size]
    for result, *parts in zip(whole, *halves, strict=True):
        same = tf.bitcast(result, bits) == tf.bitcast(tf.concat(parts, 0), bits)
        assert tf.reduce_all(same)
