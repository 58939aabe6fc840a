# SPDX-License-Identifier: Apache-2.0
"""RoiAlign's kernels against their reference."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np
from checking import (
    Check,
    assert_last,
    assert_on_stream,
    assert_repeats,
    assert_same_bits,
    generator,
    random_values,
)
from device import Device
from numeric import FLOAT, FLOATING, NumericType
from roi_align_kernels import RoiAlign, RoiAlignOptions, samples, weights
from rois import RegionProblem, checks_beyond, of_last_copy, random_rois, timed
from rows import Row, random_buffer

_DEFAULT = RoiAlignOptions()


@dataclasses.dataclass(frozen=True)
class RoiAlignProblem(RegionProblem):
    """One call of RoiAlign."""

    options: RoiAlignOptions = _DEFAULT


_PROBLEMS = (
    RoiAlignProblem((1, 1, 1, 1), 1, (1, 1)),
    RoiAlignProblem((2, 5, 6, 4), 9, (2, 2)),
    RoiAlignProblem((2, 5, 6, 4), 9, (2, 2), RoiAlignOptions(0.5, 3, False)),
    RoiAlignProblem((3, 24, 31, 9), 40, (7, 5), RoiAlignOptions(0.5)),
    RoiAlignProblem((2, 3, 4, 33), 12, (5, 7), RoiAlignOptions(0.25, 2)),  # more bins than pixels
    RoiAlignProblem((4, 17, 13, 1), 300, (1, 1), RoiAlignOptions(1.0, 1)),
    RoiAlignProblem((1, 64, 48, 72), 33, (7, 7), RoiAlignOptions(1 / 16)),
    RoiAlignProblem((1, 64, 48, 70), 33, (7, 7), RoiAlignOptions(1 / 16, 2, False)),
    RoiAlignProblem((1, 9, 9, 3), 5, (300, 2)),  # more rows of bins than threads
    RoiAlignProblem((0, 4, 4, 2), 3, (2, 2)),
    RoiAlignProblem((2, 0, 4, 2), 3, (2, 2)),
    RoiAlignProblem((2, 4, 4, 0), 3, (2, 2)),
    RoiAlignProblem((2, 4, 4, 2), 0, (2, 2)),
)


def _sides(roi: np.ndarray, problem: RoiAlignProblem) -> list[np.ndarray]:
    """Positions of the samples, by row and by column."""
    return [
        samples(roi[k], roi[k + 2], bins, problem.options)
        for k, bins in zip((2, 1), problem.bins, strict=True)
    ]


def _is_on_edge(roi: np.ndarray, problem: RoiAlignProblem) -> bool:
    """Whether a rounding decides if a sample lies outside."""
    near = False
    for positions, pixels in zip(_sides(roi, problem), problem.data[1:3], strict=True):
        distance = np.minimum(np.abs(positions + 1), np.abs(positions - pixels))
        near |= bool(np.any(distance < 1e-3))
    return near


def _rois(random: np.random.Generator, problem: RoiAlignProblem, dtype: NumericType) -> np.ndarray:
    """Regions inside, across and outside the images."""

    def draw(reach: np.ndarray) -> np.ndarray:
        roi = np.zeros(5)
        for _ in range(1000):
            corners = random.uniform(-0.3, 1.3, 4) * reach / problem.options.scale
            roi[1:] = dtype.round(corners)
            if not _is_on_edge(roi.astype(dtype.compute), problem):
                break
        return roi[1:]

    return random_rois(random, dtype, problem.data, problem.rois, draw)


def _product(equation: str, *factors: np.ndarray) -> np.ndarray:
    """By two products of matrices, where np.einsum alone adds up all terms at once."""
    return np.einsum(equation, *factors, optimize=True)


class _Reference:
    """The weights of all regions as matrices, rows [R, PH, H], columns [R, PW, W]."""

    def __init__(self, problem: RoiAlignProblem, rois: np.ndarray) -> None:
        images, height, width, _ = problem.data
        self._shape = problem.data
        self._regions = []
        for roi in rois:
            batch = float(roi[0])
            rows, columns = _sides(roi, problem)
            self._regions.append(
                (
                    int(batch) if 0 <= batch < images else -1,
                    weights(rows, height),
                    weights(columns, width),
                )
            )

    def pooled(self, data: np.ndarray, touched: bool = False) -> np.ndarray:
        """RoiAlign; if `touched`, with weights of 1."""
        result = []
        for image, *both in self._regions:
            rows, columns = (m > 0 if touched else m for m in both)
            pixels = data[image] if image >= 0 else np.zeros(self._shape[1:])
            result.append(_product("iy,jx,yxc->ijc", rows, columns, pixels))
        return np.array(result)

    def grad(self, gradients: np.ndarray, touched: bool = False) -> np.ndarray:
        """RoiAlignGrad; if `touched`, with weights of 1."""
        result = np.zeros(self._shape)
        for gradient, (image, *both) in zip(gradients, self._regions, strict=True):
            rows, columns = (m > 0 if touched else m for m in both)
            if image >= 0:
                result[image] += _product("iy,jx,ijc->yxc", rows, columns, gradient)
        return result


def _check(
    device: Device,
    problem: RoiAlignProblem,
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
    # A position is off by some roundings of its size, a weight by as much.
    off = 8 * (4 + max(problem.data[1:3])) * np.finfo(dtype.compute).eps
    images = problem.data[0]
    shape = data_copies * images, *problem.data[1:]
    pooled_shape = problem.rois, *problem.bins, problem.data[3]
    with device.memory():
        op = RoiAlign(
            device, dtype, shape, roi_copies * problem.rois, problem.bins, problem.options
        )
        stored = of_last_copy(dtype, rois, images, data_copies)
        on_device = device.repeat(stored, roi_copies, 1)
        exact = dtype.decode(data)
        expected = dtype.round(reference.pooled(exact)).reshape(pooled_shape)
        slack = off * reference.pooled(np.abs(exact), touched=True)
        slack = slack.reshape(pooled_shape)
        for offset in (0, 1):
            with device.memory():
                pooled = device.empty(op.pooled_shape, dtype.storage, offset)
                repeated = device.repeat(data, data_copies, offset)
                op.forward(repeated, on_device, op.scratch(), pooled)
                assert_repeats("pooled", device, dtype, pooled, expected, 2, slack)
        gradients = random_values(random, dtype, pooled_shape)
        exact = dtype.decode(gradients)
        expected = dtype.round(reference.grad(exact))
        slack = off * reference.grad(np.abs(exact), touched=True)
        for deterministic, offset in itertools.product((False, True), (0, 1)):
            with device.memory():
                upstream = device.last_of(gradients, roi_copies, offset)
                backprops = device.empty(op.data_shape, dtype.storage, offset)
                op.grad(deterministic, upstream, on_device, op.scratch(), op.sums(), backprops)
                name = f"gradient, deterministic: {deterministic}, offset {offset}"
                assert_last(name, device, dtype, backprops, expected, 2, slack)


def _repeatable(device: Device) -> None:
    """The deterministic gradient gives the same bits ten times over."""
    random = generator("repeatable")
    problem = RoiAlignProblem((2, 16, 16, 16), 500, (7, 7))
    with device.memory():
        op = RoiAlign(device, FLOAT, problem.data, problem.rois, problem.bins, problem.options)
        rois = device.upload(_rois(random, problem, FLOAT))
        gradients = random.standard_normal(op.pooled_shape).astype(np.float32)
        upstream = device.upload(gradients)
        backprops = device.empty(problem.data, np.float32)
        arguments = upstream, rois, op.scratch(), None, backprops
        launch = functools.partial(op.grad, True, *arguments)
        assert_same_bits(device, launch, [backprops])


def _streams(device: Device) -> None:
    """RoiAlign's launches go to the stream they are given."""
    for dtype in FLOATING:
        with device.memory():
            shape = (2, 5, 6, 4)
            op = RoiAlign(device, dtype, shape, 9, (2, 2), _DEFAULT)
            data = device.upload(np.zeros(shape, dtype.storage))
            rois = device.upload(np.zeros((9, 5), dtype.storage))
            pooled = device.upload(np.zeros(op.pooled_shape, dtype.storage))
            scratch, sums = op.scratch(), op.sums()
            work = {"RoiAlign": functools.partial(op.forward, data, rois, scratch, pooled)}
            for deterministic in (False, True):
                work[f"RoiAlignGrad, deterministic: {deterministic}"] = functools.partial(
                    op.grad, deterministic, pooled, rois, scratch, sums, data
                )
            assert_on_stream(device, work)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for RoiAlign and its gradient."""
    yield "RoiAlign streams", _streams
    for dtype in FLOATING:
        for number, problem in enumerate(_PROBLEMS):
            name = f"RoiAlign {dtype.name} {number} {problem.data}"
            yield name, functools.partial(_check, problem=problem, dtype=dtype)
    yield "RoiAlignGrad repeatable", _repeatable


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than `beyond` elements of data, and of pooled."""
    yield from checks_beyond(beyond, "RoiAlign", RoiAlignProblem, _check)


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """The rows of RoiAlign; see rois.timed."""
    for case in timed(size):
        dtype, regions = case.dtype, len(case.rois)
        with device.memory():
            op = RoiAlign(device, dtype, case.data_shape, regions, case.bins, _DEFAULT)
            data = random_buffer(device, dtype, math.prod(case.data_shape))
            rois = device.upload(case.rois)
            pooled = device.empty(op.pooled_shape, dtype.storage)
            scratch, sums = op.scratch(), op.sums()
            forward = functools.partial(op.forward, data, rois, scratch, pooled)
            forward()
            total = data.size + rois.size + pooled.size
            yield Row("RoiAlign", case.name, total, forward)
            for deterministic in (False, True):
                work = functools.partial(op.grad, deterministic, pooled, rois, scratch, sums, data)
                kind = ", deterministic" if deterministic else ""
                yield Row(f"RoiAlignGrad{kind}", case.name, total, work)
