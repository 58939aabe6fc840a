# SPDX-License-Identifier: Apache-2.0
"""RoiPool's kernels against their reference."""

import dataclasses
import functools
import math
from collections.abc import Iterator

import numpy as np
import roi_pool_kernel
from checking import Check, assert_close, generator, random_values
from device import Device
from numeric import FLOATING, NumericType
from roi_pool_kernel import RoiPool
from rows import Row, random_buffer


@dataclasses.dataclass(frozen=True)
class Problem:
    """Shapes of one call: data [N, H, W, C], number of regions, bins."""

    data: tuple[int, int, int, int]
    rois: int
    bins: tuple[int, int]
    scale: float = 1.0


_PROBLEMS = (
    Problem((1, 1, 1, 1), 1, (1, 1)),
    Problem((2, 5, 6, 4), 9, (2, 2)),
    Problem((3, 24, 31, 9), 40, (7, 5), 0.5),
    Problem((2, 3, 4, 33), 12, (5, 7), 0.25),  # more bins than pixels
    Problem((4, 17, 13, 1), 300, (1, 1)),
    Problem((1, 64, 48, 70), 33, (7, 7), 1 / 16),
    Problem((1, 9, 9, 3), 5, (300, 2)),  # more rows of bins than threads
    Problem((0, 4, 4, 2), 3, (2, 2)),
    Problem((2, 0, 4, 2), 3, (2, 2)),
    Problem((2, 4, 4, 0), 3, (2, 2)),
    Problem((2, 4, 4, 2), 0, (2, 2)),
)
_BAD = (np.nan, np.inf, -np.inf, 1e30, -7.0)


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
    reach = np.array([width, height, width, height]) / problem.scale
    corners = random.uniform(-0.3, 1.3, (problem.rois, 4)) * reach
    rois[:, 1:] = np.round(4 * corners) / 4  # with ties of rounding
    if problem.rois >= 9:
        for row, value in zip((-1, -2, -3, -4, -5), _BAD, strict=True):
            rois[row, random.integers(1, 5)] = value
        rois[-6:-3, 0] = np.nan, -1, images
    return dtype.encode(rois)


def _check(device: Device, problem: Problem, dtype: NumericType) -> None:
    random = generator(problem, dtype.name)
    # Ties and NaN: half of the values are multiples of 1/4.
    data = random_values(random, dtype, problem.data, (np.nan, -np.inf, 0.0))
    rois = _rois(random, problem, dtype)
    values = dtype.decode(rois).astype(dtype.compute)
    pooled, argmax = roi_pool_kernel.roi_pool(
        dtype.decode(data), values, problem.scale, problem.bins
    )
    with device.memory():
        op = RoiPool(device, dtype, problem.data, problem.rois, problem.bins)
        on_device = device.upload(data, 1), device.upload(rois, 1)
        outputs = (
            device.empty(op.pooled_shape, dtype.storage, 1),
            device.empty(op.pooled_shape, np.int32, 1),
        )
        op.forward(problem.scale, *on_device, *outputs)
        assert_close("pooled", dtype, device.download(outputs[0]), pooled)
        got = device.download(outputs[1])
        wrong = int(np.sum(got != argmax))
        assert wrong == 0, f"argmax: {wrong} of {argmax.size} wrong"

        if argmax.size:  # what a caller may hand over by mistake
            mistakes = random.choice([-2, -(2**31), 2**31 - 1, 1], argmax.shape)
            mistaken = random.random(argmax.shape) < 0.05
            argmax = np.where(mistaken, mistakes, argmax).astype(np.int32)
        elements = roi_pool_kernel.roi_elements(values, argmax, problem.data)
        _check_gradients(device, op, dtype, rois, argmax, elements)


def _check_gradients(
    device: Device,
    op: RoiPool,
    dtype: NumericType,
    rois: np.ndarray,
    argmax: np.ndarray,
    elements: np.ndarray,
) -> None:
    random = generator(op.data_shape, dtype.name)
    gradients = random_values(random, dtype, op.pooled_shape)
    exact = dtype.decode(gradients)
    rois_on_device, argmax_on_device = device.upload(rois), device.upload(argmax)

    # In order: the same to the last bit as a sum in the compute type.
    in_order = roi_pool_kernel.roi_pool_grad(
        exact.astype(dtype.compute), elements, op.data_shape
    )
    arguments = device.upload(gradients, 1), rois_on_device, argmax_on_device
    backprops = device.empty(op.data_shape, dtype.storage, 1)
    op.grad(True, *arguments, op.scratch(deterministic=True), backprops)
    result = device.download(backprops)
    assert_close("deterministic gradient", dtype, result, dtype.round(in_order))

    # In any order: off by a rounding for each term, then by one of the type.
    total = roi_pool_kernel.roi_pool_grad(exact, elements, op.data_shape)
    terms = roi_pool_kernel.roi_pool_grad(np.ones_like(exact), elements, op.data_shape)
    sizes = roi_pool_kernel.roi_pool_grad(np.abs(exact), elements, op.data_shape)
    slack = np.maximum(terms - 1, 0) * sizes * np.finfo(dtype.compute).eps
    backprops = device.empty(op.data_shape, dtype.storage, 1)
    op.grad(False, *arguments, op.scratch(deterministic=False), backprops)
    result = device.download(backprops)
    assert_close("gradient", dtype, result, dtype.round(total), 2, slack)

    upstream = random_values(random, dtype, op.data_shape)
    expected = roi_pool_kernel.roi_pool_grad_grad(dtype.decode(upstream), elements)
    backprops = device.empty(op.pooled_shape, dtype.storage, 1)
    op.grad_grad(
        device.upload(upstream, 1), rois_on_device, argmax_on_device, backprops
    )
    result = device.download(backprops)
    assert_close("gradient's gradient", dtype, result, expected)


def _repeatable(device: Device) -> None:
    """The deterministic gradient gives the same bits ten times over."""
    dtype = FLOATING[2]
    random = generator("repeatable")
    shape, rois, bins = (2, 8, 8, 16), 2000, (7, 7)
    with device.memory():
        op = RoiPool(device, dtype, shape, rois, bins)
        corners = np.zeros((rois, 5), np.float32)
        corners[:, 0] = random.integers(0, 2, rois)
        elements = random.integers(0, 64, op.pooled_shape) * 16 + np.arange(16)
        gradients = random.standard_normal(op.pooled_shape).astype(np.float32)
        arguments = map(device.upload, (gradients, corners, elements.astype(np.int32)))
        arguments = tuple(arguments)
        results = []
        for _ in range(10):
            backprops = device.empty(shape, np.float32)
            op.grad(True, *arguments, op.scratch(deterministic=True), backprops)
            results.append(device.download(backprops).tobytes())
    assert len(set(results)) == 1, "differs from one call to the next"


def _streams(device: Device) -> None:
    """RoiPool's launches go to the stream they are given."""
    for dtype in FLOATING:
        with device.memory():
            shape = (2, 5, 6, 4)
            op = RoiPool(device, dtype, shape, 9, (2, 2))
            data = device.upload(np.zeros(shape, dtype.storage))
            rois = device.upload(np.zeros((9, 5), dtype.storage))
            pooled = device.upload(np.zeros(op.pooled_shape, dtype.storage))
            argmax = device.upload(np.zeros(op.pooled_shape, np.int32))
            work = {
                "RoiPool": functools.partial(
                    op.forward, 1.0, data, rois, pooled, argmax
                ),
                "RoiPoolGradGrad": functools.partial(
                    op.grad_grad, data, rois, argmax, pooled
                ),
            }
            for deterministic in (False, True):
                scratch = op.scratch(deterministic)
                name = f"RoiPoolGrad, deterministic: {deterministic}"
                work[name] = functools.partial(
                    op.grad, deterministic, pooled, rois, argmax, scratch, data
                )
            for name, launch in work.items():
                assert device.recorded(launch) >= 1, f"{name}: not on its stream"


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for RoiPool and its gradients."""
    yield "RoiPool streams", _streams
    for dtype in FLOATING:
        for problem in _PROBLEMS:
            name = f"RoiPool {dtype.name} {problem.data}, {problem.rois} rois"
            yield name, functools.partial(_check, problem=problem, dtype=dtype)
    yield "RoiPoolGrad repeatable", _repeatable


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """Feature maps of [2, 50, 76, C] and 512 regions a map, 7 x 7 bins."""
    random = generator("timing", "rois")
    images, height, width, regions, bins = 2, 50, 76, 1024, (7, 7)
    for dtype in FLOATING:
        pooled_bytes = regions * bins[0] * bins[1] * dtype.storage.itemsize
        channels = min(1024, max(1, size // pooled_bytes))
        corners = np.sort(random.random((regions, 2, 2)), axis=1).reshape(regions, 4)
        rois = np.empty((regions, 5))
        rois[:, 0] = random.integers(0, images, regions)
        rois[:, 1:] = np.round(corners * [width, height, width, height])
        with device.memory():
            shape = (images, height, width, channels)
            op = RoiPool(device, dtype, shape, regions, bins)
            data = random_buffer(device, dtype, math.prod(shape))
            on_device = device.upload(dtype.encode(rois))
            pooled = device.empty(op.pooled_shape, dtype.storage)
            argmax = device.empty(op.pooled_shape, np.int32)
            forward = functools.partial(
                op.forward, 1.0, data, on_device, pooled, argmax
            )
            forward()
            total = data.size + on_device.size + pooled.size + argmax.size
            name = f"{dtype.name}, C = {channels}"
            yield Row("RoiPool", name, total, forward)
            for deterministic in (False, True):
                scratch = op.scratch(deterministic)
                work = functools.partial(
                    op.grad, deterministic, pooled, on_device, argmax, scratch, data
                )
                kind = ", deterministic" if deterministic else ""
                yield Row(f"RoiPoolGrad{kind}", name, total, work)
            work = functools.partial(op.grad_grad, data, on_device, argmax, pooled)
            yield Row("RoiPoolGradGrad", name, total, work)
