# SPDX-License-Identifier: Apache-2.0
"""RoiAlign's kernels against their reference."""

import dataclasses
import functools
import math
from collections.abc import Iterator

import numpy as np
from checking import Check, assert_close, generator, random_values
from device import Device
from numeric import FLOAT, FLOATING, NumericType
from roi_align_kernel import Options, RoiAlign, samples, weights
from rows import Row, random_buffer

_DEFAULT = Options()


@dataclasses.dataclass(frozen=True)
class Problem:
    """Shapes of one call: data [N, H, W, C], number of regions, bins."""

    data: tuple[int, int, int, int]
    rois: int
    bins: tuple[int, int]
    options: Options = _DEFAULT


_PROBLEMS = (
    Problem((1, 1, 1, 1), 1, (1, 1)),
    Problem((2, 5, 6, 4), 9, (2, 2)),
    Problem((2, 5, 6, 4), 9, (2, 2), Options(0.5, 3, False)),
    Problem((3, 24, 31, 9), 40, (7, 5), Options(0.5)),
    Problem((2, 3, 4, 33), 12, (5, 7), Options(0.25, 2)),  # more bins than pixels
    Problem((4, 17, 13, 1), 300, (1, 1), Options(1.0, 1)),
    Problem((1, 64, 48, 72), 33, (7, 7), Options(1 / 16)),
    Problem((1, 64, 48, 70), 33, (7, 7), Options(1 / 16, 2, False)),
    Problem((1, 9, 9, 3), 5, (300, 2)),  # more rows of bins than threads
    Problem((0, 4, 4, 2), 3, (2, 2)),
    Problem((2, 0, 4, 2), 3, (2, 2)),
    Problem((2, 4, 4, 0), 3, (2, 2)),
    Problem((2, 4, 4, 2), 0, (2, 2)),
)
_BAD = (np.nan, np.inf, -np.inf, 1e30, -1e30)


def _sides(roi: np.ndarray, problem: Problem) -> list[np.ndarray]:
    """Positions of the samples, by row and by column."""
    return [
        samples(roi[k], roi[k + 2], bins, problem.options)
        for k, bins in zip((2, 1), problem.bins, strict=True)
    ]


def _is_on_edge(roi: np.ndarray, problem: Problem) -> bool:
    """Whether a rounding decides if a sample lies outside."""
    near = False
    for positions, pixels in zip(_sides(roi, problem), problem.data[1:3], strict=True):
        distance = np.minimum(np.abs(positions + 1), np.abs(positions - pixels))
        near |= bool(np.any(distance < 1e-3))
    return near


def _rois(
    random: np.random.Generator, problem: Problem, dtype: NumericType
) -> np.ndarray:
    """Regions inside, across and outside the images, as they are stored.

    In the last of many, batch indices and corners are anything: on the GPU these
    cannot be refused, and read as 0.
    """
    images, height, width, _ = problem.data
    rois = np.empty((problem.rois, 5))
    rois[:, 0] = random.integers(0, max(images, 1), problem.rois)
    reach = np.array([width, height, width, height]) / problem.options.scale
    for roi in rois:
        for _ in range(1000):
            roi[1:] = dtype.round(random.uniform(-0.3, 1.3, 4) * reach)
            if not _is_on_edge(roi.astype(dtype.compute), problem):
                break
    if problem.rois >= 9:
        for row, value in zip((-1, -2, -3, -4, -5), _BAD, strict=True):
            rois[row, random.integers(1, 5)] = value
        rois[-6:-3, 0] = np.nan, -1, images
    return dtype.encode(rois)


class _Reference:
    """The weights of all regions as matrices, rows [R, PH, H], columns [R, PW, W]."""

    def __init__(self, problem: Problem, rois: np.ndarray) -> None:
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
            result.append(np.einsum("iy,jx,yxc->ijc", rows, columns, pixels))
        return np.array(result)

    def grad(self, gradients: np.ndarray, touched: bool = False) -> np.ndarray:
        """RoiAlignGrad; if `touched`, with weights of 1."""
        result = np.zeros(self._shape)
        for gradient, (image, *both) in zip(gradients, self._regions, strict=True):
            rows, columns = (m > 0 if touched else m for m in both)
            if image >= 0:
                result[image] += np.einsum("iy,jx,ijc->yxc", rows, columns, gradient)
        return result


def _check(device: Device, problem: Problem, dtype: NumericType) -> None:
    random = generator(problem, dtype.name)
    data = random_values(random, dtype, problem.data)
    rois = _rois(random, problem, dtype)
    reference = _Reference(problem, dtype.decode(rois).astype(dtype.compute))
    # A position is off by some roundings of its size, a weight by as much.
    off = 8 * (4 + max(problem.data[1:3])) * np.finfo(dtype.compute).eps
    with device.memory():
        op = RoiAlign(
            device, dtype, problem.data, problem.rois, problem.bins, problem.options
        )
        rois_on_device = device.upload(rois, 1)
        for offset in (0, 1):
            pooled = device.empty(op.pooled_shape, dtype.storage, offset)
            on_device = device.upload(data, offset)
            op.forward(on_device, rois_on_device, op.scratch(), pooled)
            exact = dtype.decode(data)
            expected = reference.pooled(exact).reshape(op.pooled_shape)
            slack = off * reference.pooled(np.abs(exact), touched=True)
            assert_close(
                "pooled",
                dtype,
                device.download(pooled),
                dtype.round(expected),
                2,
                slack.reshape(op.pooled_shape),
            )
        gradients = random_values(random, dtype, op.pooled_shape)
        exact = dtype.decode(gradients)
        slack = off * reference.grad(np.abs(exact), touched=True)
        for deterministic in (False, True):
            backprops = device.empty(op.data_shape, dtype.storage, 1)
            op.grad(
                deterministic,
                device.upload(gradients, 1),
                rois_on_device,
                op.scratch(),
                op.sums(),
                backprops,
            )
            assert_close(
                f"gradient, deterministic: {deterministic}",
                dtype,
                device.download(backprops),
                dtype.round(reference.grad(exact)),
                2,
                slack,
            )


def _repeatable(device: Device) -> None:
    """The deterministic gradient gives the same bits ten times over."""
    random = generator("repeatable")
    problem = Problem((2, 16, 16, 16), 500, (7, 7))
    with device.memory():
        op = RoiAlign(
            device, FLOAT, problem.data, problem.rois, problem.bins, problem.options
        )
        rois = device.upload(_rois(random, problem, FLOAT))
        gradients = random.standard_normal(op.pooled_shape).astype(np.float32)
        upstream = device.upload(gradients)
        results = []
        for _ in range(10):
            backprops = device.empty(problem.data, np.float32)
            op.grad(True, upstream, rois, op.scratch(), None, backprops)
            results.append(device.download(backprops).tobytes())
    assert len(set(results)) == 1, "differs from one call to the next"


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
            forward = functools.partial(op.forward, data, rois, scratch, pooled)
            assert device.recorded(forward) >= 1, "RoiAlign: not on its stream"
            for deterministic in (False, True):
                grad = functools.partial(
                    op.grad, deterministic, pooled, rois, scratch, sums, data
                )
                recorded = device.recorded(grad)
                assert recorded >= 1, "RoiAlignGrad: not on its stream"


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for RoiAlign and its gradient."""
    yield "RoiAlign streams", _streams
    for dtype in FLOATING:
        for number, problem in enumerate(_PROBLEMS):
            name = f"RoiAlign {dtype.name} {number} {problem.data}"
            yield name, functools.partial(_check, problem=problem, dtype=dtype)
    yield "RoiAlignGrad repeatable", _repeatable


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """Feature maps of [2, 50, 76, C] and 512 regions a map, 7 x 7 bins."""
    random = generator("timing", "rois")
    images, height, width, regions, bins = 2, 50, 76, 1024, (7, 7)
    for dtype in FLOATING:
        pooled_bytes = regions * bins[0] * bins[1] * dtype.storage.itemsize
        channels = min(1024, max(8, size // pooled_bytes // 8 * 8))
        corners = np.sort(random.random((regions, 2, 2)), axis=1).reshape(regions, 4)
        rois = np.empty((regions, 5))
        rois[:, 0] = random.integers(0, images, regions)
        rois[:, 1:] = corners * [width, height, width, height]
        with device.memory():
            shape = (images, height, width, channels)
            op = RoiAlign(device, dtype, shape, regions, bins, _DEFAULT)
            data = random_buffer(device, dtype, math.prod(shape))
            on_device = device.upload(dtype.encode(rois))
            pooled = device.empty(op.pooled_shape, dtype.storage)
            scratch, sums = op.scratch(), op.sums()
            forward = functools.partial(op.forward, data, on_device, scratch, pooled)
            forward()
            total = data.size + on_device.size + pooled.size
            name = f"{dtype.name}, C = {channels}"
            yield Row("RoiAlign", name, total, forward)
            for deterministic in (False, True):
                work = functools.partial(
                    op.grad, deterministic, pooled, on_device, scratch, sums, data
                )
                kind = ", deterministic" if deterministic else ""
                yield Row(f"RoiAlignGrad{kind}", name, total, work)
