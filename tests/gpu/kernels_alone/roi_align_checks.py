"""RoiAlign's kernels against NumPy in float64."""

import functools
import itertools
import struct
from collections.abc import Iterator

import numpy as np
from checking import Check, assert_last, assert_repeats, generator, random_values
from device import Device
from numeric import FLOAT, FLOATING, NumericType
from rois import RegionProblem, checks_beyond, random_rois, timed_regions, upload_rois, usual_rois
from rows import Row, check_repeatable, random_buffer


def _samples(
    first: np.floating, last: np.floating, bins: int, problem: RegionProblem
) -> np.ndarray:
    """The positions of each bin's samples along a side, [bins, count].

    They are in the type of the corners, the compute type, in which a kernel decides whether a
    sample is outside the image.
    """
    number = type(first)
    offset = number(0.5 if problem.aligned else 0)
    with np.errstate(invalid="ignore", over="ignore"):
        begin = first * number(problem.scale) - offset
        size = last * number(problem.scale) - offset - begin
        if not (np.isfinite(begin) and np.isfinite(size)):
            return np.empty((bins, 0), number)
        if not problem.aligned:
            size = max(size, number(1))
        size = size / number(bins)
        count = problem.sampling_ratio or max(int(np.ceil(size)), 0)
        if count == 0 or count > 1e6:  # nothing, or almost nothing in an image
            return np.empty((bins, 0), number)
        inner = (np.arange(count).astype(number) + number(0.5)) * (size / number(count))
        return begin + np.arange(bins).astype(number)[:, np.newaxis] * size + inner


def _weights(positions: np.ndarray, pixels: int) -> np.ndarray:
    """The mean over each bin's samples of the pixels' weights, [bins, pixels].

    K. He et al., "Mask R-CNN", ICCV 2017, section 3; at the edges as torchvision.
    """
    bins, count = positions.shape
    result = np.zeros((bins, pixels))
    if not (count and pixels):
        return result
    inside = (positions >= -1) & (positions <= pixels)
    at = np.clip(positions.astype(np.float64), 0, pixels - 1)
    low = np.where(inside, np.floor(at), 0).astype(np.int64)
    high = np.minimum(low + 1, pixels - 1)
    fraction = np.where(inside, at - low, 0)
    row = np.broadcast_to(np.arange(bins)[:, np.newaxis], at.shape)
    np.add.at(result, (row, low), np.where(inside, 1 - fraction, 0) / count)
    np.add.at(result, (row, high), fraction / count)
    return result


_PROBLEMS = (
    RegionProblem((1, 1, 1, 1), 1, (1, 1)),
    RegionProblem((2, 5, 6, 4), 9, (2, 2)),
    RegionProblem((2, 5, 6, 4), 9, (2, 2), 0.5, 3, False),
    RegionProblem((3, 24, 31, 9), 40, (7, 5), 0.5),
    RegionProblem((2, 3, 4, 33), 12, (5, 7), 0.25, 2),  # more bins than pixels
    RegionProblem((4, 17, 13, 1), 300, (1, 1), 1.0, 1),
    RegionProblem((1, 64, 48, 72), 33, (7, 7), 1 / 16),
    RegionProblem((1, 64, 48, 70), 33, (7, 7), 1 / 16, 2, False),
    RegionProblem((1, 9, 9, 3), 5, (300, 2)),  # more rows of bins than threads
    RegionProblem((0, 4, 4, 2), 3, (2, 2)),
    RegionProblem((2, 0, 4, 2), 3, (2, 2)),
    RegionProblem((2, 4, 4, 0), 3, (2, 2)),
    RegionProblem((2, 4, 4, 2), 0, (2, 2)),
)


def _sides(roi: np.ndarray, problem: RegionProblem) -> list[np.ndarray]:
    """Positions of the samples, by row and by column."""
    return [
        _samples(roi[k], roi[k + 2], bins, problem)
        for k, bins in zip((2, 1), problem.bins, strict=True)
    ]


def _is_on_edge(roi: np.ndarray, problem: RegionProblem) -> bool:
    """True if rounding decides whether a sample is outside."""
    near = False
    for positions, pixels in zip(_sides(roi, problem), problem.data[1:3], strict=True):
        distance = np.minimum(np.abs(positions + 1), np.abs(positions - pixels))
        near |= bool(np.any(distance < 1e-3))
    return near


def _rois(random: np.random.Generator, problem: RegionProblem, dtype: NumericType) -> np.ndarray:
    """Regions inside, across and outside the images."""

    def draw(reach: np.ndarray) -> np.ndarray:
        roi = np.zeros(5)
        for _ in range(1000):
            corners = random.uniform(-0.3, 1.3, 4) * reach / problem.scale
            roi[1:] = dtype.round(corners)
            if not _is_on_edge(roi.astype(dtype.compute), problem):
                break
        return roi[1:]

    return random_rois(random, dtype, problem, draw)


def _product(equation: str, *factors: np.ndarray) -> np.ndarray:
    """Two matrix products, because a single np.einsum would sum all terms at once."""
    return np.einsum(equation, *factors, optimize=True)


class _Reference:
    """The weights of all regions as matrices, rows [R, PH, H], columns [R, PW, W]."""

    def __init__(self, problem: RegionProblem, rois: np.ndarray) -> None:
        images, height, width, _ = problem.data
        self._shape, self._pooled = problem.data, problem.pooled
        self._regions = []
        for roi in rois:
            image = int(roi[0]) if 0 <= roi[0] < images else -1
            rows, columns = _sides(roi, problem)
            self._regions.append((image, _weights(rows, height), _weights(columns, width)))

    def pooled(self, data: np.ndarray, touched: bool = False) -> np.ndarray:
        """RoiAlign; if `touched`, with weights of 1."""
        result = []
        for image, *both in self._regions:
            rows, columns = (m > 0 if touched else m for m in both)
            pixels = data[image] if image >= 0 else np.zeros(self._shape[1:])
            result.append(_product("iy,jx,yxc->ijc", rows, columns, pixels))
        return np.reshape(result, self._pooled)

    def grad(self, gradients: np.ndarray, touched: bool = False) -> np.ndarray:
        """RoiAlignGrad; if `touched`, with weights of 1."""
        result = np.zeros(self._shape)
        for gradient, (image, *both) in zip(gradients, self._regions, strict=True):
            rows, columns = (m > 0 if touched else m for m in both)
            if image >= 0:
                result[image] += _product("iy,jx,ijc->yxc", rows, columns, gradient)
        return result


def _arguments(dtype: NumericType, problem: RegionProblem) -> tuple[NumericType, bytes, bytes]:
    """The first arguments of both launchers; the last are the members of RoiAlignOptions,
    where 0q pads as C++ does."""
    options = struct.pack("fq?0q", problem.scale, problem.sampling_ratio, problem.aligned)
    return dtype, problem.dims, options


def _check(
    device: Device,
    problem: RegionProblem,
    dtype: NumericType,
    data_copies: int = 1,
    roi_copies: int = 1,
) -> None:
    """The images repeat `data_copies` times, and regions are those of the last
    copy; the regions repeat `roi_copies` times."""
    random = generator(problem, dtype.name)
    data = random_values(random, dtype, problem.data)
    rois = _rois(random, problem, dtype)
    reference = _Reference(problem, dtype.decode(rois).astype(dtype.compute))
    # A position is off by some roundings of its size, and a weight by as much.
    off = 8 * (4 + max(problem.data[1:3])) * dtype.epsilon
    repeated = problem.repeated(data_copies, roi_copies)
    first = _arguments(dtype, repeated)
    with device.memory():
        scratch = device.scratch("RoiAlignScratch", *first[:2])
        on_device = upload_rois(device, dtype, rois, problem, data_copies, roi_copies, 1)
        exact = dtype.decode(data)
        expected = dtype.round(reference.pooled(exact))
        slack = off * reference.pooled(np.abs(exact), touched=True)
        for offset in (0, 1):
            with device.memory():
                pooled = device.empty(repeated.pooled, dtype.storage, offset)
                given = device.repeat(data, data_copies, offset)
                device.launch("RoiAlign", *first, given, on_device, scratch, pooled)
                assert_repeats("pooled", device, dtype, pooled, expected, 2, slack)
        gradients = random_values(random, dtype, problem.pooled)
        exact = dtype.decode(gradients)
        expected = dtype.round(reference.grad(exact))
        slack = off * reference.grad(np.abs(exact), touched=True)
        for deterministic, offset in itertools.product((False, True), (0, 1)):
            with device.memory():
                upstream = device.last_of(gradients, roi_copies, offset)
                backprops = device.empty(repeated.data, dtype.storage, offset)
                sums = device.sums(dtype, repeated.data)
                tensors = upstream, on_device, scratch, sums, backprops
                device.launch("RoiAlignGrad", *first, deterministic, *tensors)
                name = f"gradient, deterministic: {deterministic}, offset {offset}"
                assert_last(name, device, dtype, backprops, expected, 2, slack)


SMALL = [(_PROBLEMS[1],)]
timed = timed_regions


def rows(device: Device, dtype: NumericType, problem: RegionProblem) -> Iterator[Row]:
    first = _arguments(dtype, problem)
    data = random_buffer(device, dtype, problem.data)
    rois = device.upload(usual_rois(dtype, problem))
    pooled = device.empty(problem.pooled, dtype.storage)
    scratch, sums = device.scratch("RoiAlignScratch", *first[:2]), device.sums(dtype, problem.data)
    total, label = data.size + rois.size + pooled.size, f"{dtype.name}, C = {problem.data[3]}"
    forward = functools.partial(device.launch, "RoiAlign", *first, data, rois, scratch, pooled)
    forward()
    yield Row("RoiAlign", label, total, forward)
    for deterministic in (False, True):
        arguments = *first, deterministic, pooled, rois, scratch, sums, data
        work = functools.partial(device.launch, "RoiAlignGrad", *arguments)
        kind = ", deterministic" if deterministic else ""
        yield Row(f"RoiAlignGrad{kind}", label, total, work, [data] if deterministic else [])


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for RoiAlign and its gradient."""
    partial = functools.partial
    for dtype in FLOATING:
        for number, problem in enumerate(_PROBLEMS):
            name = f"RoiAlign {dtype.name} {number} {problem.data}"
            yield name, partial(_check, problem=problem, dtype=dtype)
    many = RegionProblem((2, 16, 16, 16), 500, (7, 7))
    launches = partial(rows, dtype=FLOAT, problem=many)
    yield "RoiAlignGrad repeatable", partial(check_repeatable, rows=launches)


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than `beyond` elements of data, and of pooled."""
    yield from checks_beyond(beyond, "RoiAlign", _check)
