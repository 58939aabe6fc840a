"""RoiPool's kernels against NumPy in float64."""

import functools
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from checking import Check, assert_last, assert_repeats, generator, random_values
from device import Buffer, Device
from numeric import FLOAT, FLOATING, INT32, NumericType
from rois import RegionProblem, checks_beyond, random_rois, timed_regions, upload_rois, usual_rois
from rows import Row, check_repeatable, random_buffer

_MAX_CORNER = 2.0**30


def _corner(value: np.floating, scale: np.floating) -> int:
    """The scaled corner, rounded half away from zero."""
    exact = float(value * scale)
    if np.isinf(exact):
        return int(np.copysign(_MAX_CORNER, exact))
    whole = np.trunc(exact)
    if abs(exact - whole) >= 0.5:
        whole += np.copysign(1, exact)
    return int(np.clip(whole, -_MAX_CORNER, _MAX_CORNER))


def _image(batch: float, images: int) -> int:
    return int(batch) if 0 <= batch < images else -1


def _bin(begin: int, length: int, i: int, bins: int, pixels: int) -> slice:
    first = begin + i * length // bins
    last = begin - (-(i + 1) * length // bins)
    return slice(min(max(first, 0), pixels), min(max(last, 0), pixels))


def _roi_pool(
    data: np.ndarray, rois: np.ndarray, scale: float, bins: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Pooled values and argmax.

    R. Girshick, "Fast R-CNN", ICCV 2015, section 2.1.

    Args:
      data: [N, H, W, C] of float64.
      rois: [R, 5] in the compute type, in which corners are scaled.
      scale: spatial_scale.
      bins: pooled_height, pooled_width.
    """
    images, height, width, channels = data.shape
    pooled = np.zeros((len(rois), *bins, channels))
    argmax = np.full(pooled.shape, -1, np.int32)
    for r, (batch, *corners) in enumerate(rois):
        image = _image(float(batch), images)
        if image < 0 or np.any(np.isnan(corners)):
            continue
        factor = rois.dtype.type(np.float32(scale))
        x1, y1, x2, y2 = (_corner(c, factor) for c in corners)
        for i, j in np.ndindex(*bins):
            rows = _bin(y1, max(y2 - y1 + 1, 1), i, bins[0], height)
            columns = _bin(x1, max(x2 - x1 + 1, 1), j, bins[1], width)
            window = data[image, rows, columns]
            if window.size == 0:
                continue
            # The first of equal values; NaN is the largest, as in np.argmax.
            flat = np.argmax(window.reshape(-1, channels), axis=0)
            h, w = np.divmod(flat, window.shape[1])
            h, w, c = h + rows.start, w + columns.start, np.arange(channels)
            pooled[r, i, j] = data[image, h, w, c]
            argmax[r, i, j] = (h * width + w) * channels + c
    return pooled, argmax


def _roi_elements(rois: np.ndarray, argmax: np.ndarray, data_shape: Sequence[int]) -> np.ndarray:
    """The element of data that each entry of argmax names; -1 for none."""
    images, *image_shape = data_shape
    image_size = int(np.prod(image_shape))
    channels = data_shape[-1]
    image = np.array([_image(float(batch), images) for batch in rois[:, 0]], np.int64)
    image = image.reshape(-1, 1, 1, 1)
    known = (image >= 0) & (argmax >= 0) & (argmax < image_size)
    known &= argmax % max(channels, 1) == np.arange(channels)
    return np.where(known, image * image_size + argmax, -1)


def _roi_pool_grad(
    gradients: np.ndarray, elements: np.ndarray, data_shape: Sequence[int]
) -> np.ndarray:
    """Gradients added at their elements, in order, in the gradients' own type."""
    sums = np.zeros(int(np.prod(data_shape)), gradients.dtype)
    known = elements >= 0
    np.add.at(sums, elements[known], gradients[known])
    return sums.reshape(data_shape)


def _roi_pool_grad_grad(gradients: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """The gradients at the elements; 0 for none."""
    if gradients.size == 0:
        return np.zeros(elements.shape)
    return np.where(elements >= 0, gradients.reshape(-1)[np.maximum(elements, 0)], 0)


_PROBLEMS = (
    RegionProblem((1, 1, 1, 1), 1, (1, 1)),
    RegionProblem((2, 5, 6, 4), 9, (2, 2)),
    RegionProblem((2, 7, 5, 16), 9, (3, 2)),  # in packs, of every type
    RegionProblem((3, 24, 31, 9), 40, (7, 5), 0.5),
    RegionProblem((2, 3, 4, 33), 12, (5, 7), 0.25),  # more bins than pixels
    RegionProblem((4, 17, 13, 1), 300, (1, 1)),
    RegionProblem((1, 64, 48, 70), 33, (7, 7), 1 / 16),
    RegionProblem((1, 9, 9, 3), 5, (300, 2)),  # more rows of bins than threads
    RegionProblem((0, 4, 4, 2), 3, (2, 2)),
    RegionProblem((2, 0, 4, 2), 3, (2, 2)),
    RegionProblem((2, 4, 4, 0), 3, (2, 2)),
    RegionProblem((2, 4, 4, 2), 0, (2, 2)),
)


def _rois(random: np.random.Generator, problem: RegionProblem, dtype: NumericType) -> np.ndarray:
    """Regions inside, across and outside the images, with ties of rounding."""

    def draw(reach: np.ndarray) -> np.ndarray:
        return np.round(4 * random.uniform(-0.3, 1.3, 4) * reach / problem.scale) / 4

    return random_rois(random, dtype, problem, draw)


def _check(
    device: Device,
    problem: RegionProblem,
    dtype: NumericType,
    data_copies: int = 1,
    roi_copies: int = 1,
    offset: int = 1,
) -> None:
    """The images repeat `data_copies` times, and regions are those of the last
    copy; the regions repeat `roi_copies` times. Addresses are `offset` elements off
    their alignment."""
    random = generator(problem, dtype.name)
    # Ties and NaN: half of the values are multiples of 1/4.
    data = random_values(random, dtype, problem.data, (np.nan, -np.inf, 0.0))
    rois = _rois(random, problem, dtype)
    values = dtype.decode(rois).astype(dtype.compute)
    pooled, argmax = _roi_pool(dtype.decode(data), values, problem.scale, problem.bins)
    repeated = problem.repeated(data_copies, roi_copies)
    first = dtype, repeated.dims
    with device.memory():
        on_device = upload_rois(device, dtype, rois, problem, data_copies, roi_copies, offset)
        outputs = [device.empty(repeated.pooled, t, offset) for t in (dtype.storage, np.int32)]
        given = device.repeat(data, data_copies, offset)
        device.launch("RoiPool", *first, problem.scale, given, on_device, *outputs)
        assert_repeats("pooled", device, dtype, outputs[0], pooled)
        assert_repeats("argmax", device, INT32, outputs[1], argmax)

        if argmax.size:  # values that a caller may pass by mistake
            mistakes = random.choice([-2, -(2**31), 2**31 - 1, 1], argmax.shape)
            mistaken = random.random(argmax.shape) < 0.05
            argmax = np.where(mistaken, mistakes, argmax).astype(np.int32)
        elements = _roi_elements(values, argmax, problem.data)
        gradients = random_values(random, dtype, pooled.shape)
        exact = dtype.decode(gradients)
        indices = on_device, device.repeat(argmax, roi_copies, offset)
        upstream = device.last_of(gradients, roi_copies, offset)

        # In order: equal, to the last bit, to a sum in the compute type.
        in_order = _roi_pool_grad(exact.astype(dtype.compute), elements, problem.data)
        backprops = device.empty(repeated.data, dtype.storage, offset)
        tensors = upstream, *indices, _element_ranges(device, repeated), backprops
        device.launch("RoiPoolGradDeterministic", *first, *tensors)
        name = "deterministic gradient"
        assert_last(name, device, dtype, backprops, dtype.round(in_order))

        # In any order: off by a rounding for each term, then by one of the type.
        total, terms, sizes = (
            _roi_pool_grad(g, elements, problem.data)
            for g in (exact, np.ones_like(exact), np.abs(exact))
        )
        slack = np.maximum(terms - 1, 0) * sizes * dtype.epsilon
        backprops = device.empty(repeated.data, dtype.storage, offset)
        tensors = upstream, *indices, device.sums(dtype, repeated.data), backprops
        device.launch("RoiPoolGrad", *first, *tensors)
        assert_last("gradient", device, dtype, backprops, dtype.round(total), 2, slack)

        upstream_data = random_values(random, dtype, problem.data)
        expected = _roi_pool_grad_grad(dtype.decode(upstream_data), elements)
        backprops = device.empty(repeated.pooled, dtype.storage, offset)
        given = device.repeat(upstream_data, data_copies, offset)
        device.launch("RoiPoolGradGrad", *first, given, *indices, backprops)
        assert_repeats("gradient's gradient", device, dtype, backprops, expected)


def _element_ranges(device: Device, problem: RegionProblem) -> Buffer:
    """The scratch of the deterministic gradient: pairs of numbers."""
    return device.empty((problem.rois * (1 + problem.bins[0]), 2), np.int32)


SMALL = [(_PROBLEMS[1],)]
timed = timed_regions


def rows(device: Device, dtype: NumericType, problem: RegionProblem) -> Iterator[Row]:
    data = random_buffer(device, dtype, problem.data)
    rois = device.upload(usual_rois(dtype, problem))
    pooled = device.empty(problem.pooled, dtype.storage)
    argmax = device.empty(problem.pooled, np.int32)
    sums, ranges = device.sums(dtype, problem.data), _element_ranges(device, problem)
    total = data.size + rois.size + pooled.size + argmax.size
    indices = rois, argmax
    for name, launcher, *arguments in (
        ("RoiPool", "RoiPool", 1.0, data, rois, pooled, argmax),
        ("RoiPoolGrad", "RoiPoolGrad", pooled, *indices, sums, data),
        ("RoiPoolGrad, deterministic", "RoiPoolGradDeterministic", pooled, *indices, ranges, data),
        ("RoiPoolGradGrad", "RoiPoolGradGrad", data, *indices, pooled),
    ):
        work = functools.partial(device.launch, launcher, dtype, problem.dims, *arguments)
        if name == "RoiPool":
            work()  # computes argmax for the others
        repeatable = [data] if "deterministic" in name else []
        yield Row(name, f"{dtype.name}, C = {problem.data[3]}", total, work, repeatable)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for RoiPool and its gradients."""
    partial = functools.partial
    for dtype, problem, offset in itertools.product(FLOATING, _PROBLEMS, (0, 1)):
        name = f"RoiPool {dtype.name} {problem.data}, {problem.rois} rois, offset {offset}"
        yield name, partial(_check, problem=problem, dtype=dtype, offset=offset)
    many = RegionProblem((2, 8, 8, 16), 250, (7, 7))
    launches = partial(rows, dtype=FLOAT, problem=many)
    yield "RoiPoolGrad repeatable", partial(check_repeatable, rows=launches)


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than `beyond` elements of data, and of pooled."""
    yield from checks_beyond(beyond, "RoiPool", _check)
