# SPDX-License-Identifier: Apache-2.0
"""RoiPool's kernels against their reference."""

import dataclasses
import functools
import math
from collections.abc import Iterator

import numpy as np
import roi_pool_kernels
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
from numeric import FLOATING, INT32, NumericType
from roi_pool_kernels import RoiPool
from rois import RegionProblem, checks_beyond, of_last_copy, random_rois, timed
from rows import Row, random_buffer


@dataclasses.dataclass(frozen=True)
class RoiPoolProblem(RegionProblem):
    """One call of RoiPool."""

    scale: float = 1.0


_PROBLEMS = (
    RoiPoolProblem((1, 1, 1, 1), 1, (1, 1)),
    RoiPoolProblem((2, 5, 6, 4), 9, (2, 2)),
    RoiPoolProblem((2, 7, 5, 16), 9, (3, 2)),  # in packs, of every type
    RoiPoolProblem((3, 24, 31, 9), 40, (7, 5), 0.5),
    RoiPoolProblem((2, 3, 4, 33), 12, (5, 7), 0.25),  # more bins than pixels
    RoiPoolProblem((4, 17, 13, 1), 300, (1, 1)),
    RoiPoolProblem((1, 64, 48, 70), 33, (7, 7), 1 / 16),
    RoiPoolProblem((1, 9, 9, 3), 5, (300, 2)),  # more rows of bins than threads
    RoiPoolProblem((0, 4, 4, 2), 3, (2, 2)),
    RoiPoolProblem((2, 0, 4, 2), 3, (2, 2)),
    RoiPoolProblem((2, 4, 4, 0), 3, (2, 2)),
    RoiPoolProblem((2, 4, 4, 2), 0, (2, 2)),
)


def _rois(random: np.random.Generator, problem: RoiPoolProblem, dtype: NumericType) -> np.ndarray:
    """Regions inside, across and outside the images, with ties of rounding."""

    def draw(reach: np.ndarray) -> np.ndarray:
        return np.round(4 * random.uniform(-0.3, 1.3, 4) * reach / problem.scale) / 4

    return random_rois(random, dtype, problem.data, problem.rois, draw)


def _check(
    device: Device,
    problem: RoiPoolProblem,
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
    pooled, argmax = roi_pool_kernels.roi_pool(
        dtype.decode(data), values, problem.scale, problem.bins
    )
    images = problem.data[0]
    shape = data_copies * images, *problem.data[1:]
    with device.memory():
        op = RoiPool(device, dtype, shape, roi_copies * problem.rois, problem.bins)
        stored = of_last_copy(dtype, rois, images, data_copies)
        on_device = device.repeat(stored, roi_copies, offset)
        outputs = (
            device.empty(op.pooled_shape, dtype.storage, offset),
            device.empty(op.pooled_shape, np.int32, offset),
        )
        op.forward(problem.scale, device.repeat(data, data_copies, offset), on_device, *outputs)
        assert_repeats("pooled", device, dtype, outputs[0], pooled)
        assert_repeats("argmax", device, INT32, outputs[1], argmax)

        if argmax.size:  # what a caller may hand over by mistake
            mistakes = random.choice([-2, -(2**31), 2**31 - 1, 1], argmax.shape)
            mistaken = random.random(argmax.shape) < 0.05
            argmax = np.where(mistaken, mistakes, argmax).astype(np.int32)
        elements = roi_pool_kernels.roi_elements(values, argmax, problem.data)
        gradients = random_values(random, dtype, pooled.shape)
        exact = dtype.decode(gradients)
        argmax_on_device = device.repeat(argmax, roi_copies, offset)
        arguments = (device.last_of(gradients, roi_copies, offset), on_device, argmax_on_device)

        # In order: the same to the last bit as a sum in the compute type.
        in_order = roi_pool_kernels.roi_pool_grad(
            exact.astype(dtype.compute), elements, problem.data
        )
        backprops = device.empty(op.data_shape, dtype.storage, offset)
        op.grad(True, *arguments, op.scratch(deterministic=True), backprops)
        name = "deterministic gradient"
        assert_last(name, device, dtype, backprops, dtype.round(in_order))

        # In any order: off by a rounding for each term, then by one of the type.
        total, terms, sizes = (
            roi_pool_kernels.roi_pool_grad(g, elements, problem.data)
            for g in (exact, np.ones_like(exact), np.abs(exact))
        )
        slack = np.maximum(terms - 1, 0) * sizes * np.finfo(dtype.compute).eps
        backprops = device.empty(op.data_shape, dtype.storage, offset)
        op.grad(False, *arguments, op.scratch(deterministic=False), backprops)
        total = dtype.round(total)
        assert_last("gradient", device, dtype, backprops, total, 2, slack)

        upstream = random_values(random, dtype, problem.data)
        expected = roi_pool_kernels.roi_pool_grad_grad(dtype.decode(upstream), elements)
        backprops = device.empty(op.pooled_shape, dtype.storage, offset)
        op.grad_grad(
            device.repeat(upstream, data_copies, offset), on_device, argmax_on_device, backprops
        )
        assert_repeats("gradient's gradient", device, dtype, backprops, expected)


def _repeatable(device: Device) -> None:
    """The deterministic gradient gives the same bits ten times over."""
    dtype = FLOATING[2]
    random = generator("repeatable")
    shape, rois, bins = (2, 8, 8, 16), 250, (7, 7)
    with device.memory():
        op = RoiPool(device, dtype, shape, rois, bins)
        corners = np.zeros((rois, 5), np.float32)
        corners[:, 0] = random.integers(0, 2, rois)
        elements = random.integers(0, 64, op.pooled_shape) * 16 + np.arange(16)
        gradients = random.standard_normal(op.pooled_shape).astype(np.float32)
        upstream, rois_on_device = device.upload(gradients), device.upload(corners)
        argmax = device.upload(elements.astype(np.int32))
        backprops = device.empty(shape, np.float32)
        scratch = op.scratch(deterministic=True)
        arguments = upstream, rois_on_device, argmax, scratch, backprops
        launch = functools.partial(op.grad, True, *arguments)
        assert_same_bits(device, launch, [backprops])


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
                "RoiPool": functools.partial(op.forward, 1.0, data, rois, pooled, argmax),
                "RoiPoolGradGrad": functools.partial(op.grad_grad, data, rois, argmax, pooled),
            }
            for deterministic in (False, True):
                scratch = op.scratch(deterministic)
                name = f"RoiPoolGrad, deterministic: {deterministic}"
                work[name] = functools.partial(
                    op.grad, deterministic, pooled, rois, argmax, scratch, data
                )
            assert_on_stream(device, work)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for RoiPool and its gradients."""
    yield "RoiPool streams", _streams
    for dtype in FLOATING:
        for problem in _PROBLEMS:
            for offset in (0, 1):
                name = f"RoiPool {dtype.name} {problem.data}, {problem.rois} rois"
                check = functools.partial(_check, problem=problem, dtype=dtype)
                yield (f"{name}, offset {offset}", functools.partial(check, offset=offset))
    yield "RoiPoolGrad repeatable", _repeatable


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than `beyond` elements of data, and of pooled."""
    yield from checks_beyond(beyond, "RoiPool", RoiPoolProblem, _check)


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """The rows of RoiPool; see rois.timed."""
    for case in timed(size):
        dtype, regions = case.dtype, len(case.rois)
        with device.memory():
            op = RoiPool(device, dtype, case.data_shape, regions, case.bins)
            data = random_buffer(device, dtype, math.prod(case.data_shape))
            rois = device.upload(case.rois)
            pooled = device.empty(op.pooled_shape, dtype.storage)
            argmax = device.empty(op.pooled_shape, np.int32)
            forward = functools.partial(op.forward, 1.0, data, rois, pooled, argmax)
            forward()
            total = data.size + rois.size + pooled.size + argmax.size
            yield Row("RoiPool", case.name, total, forward)
            for deterministic in (False, True):
                scratch = op.scratch(deterministic)
                work = functools.partial(
                    op.grad, deterministic, pooled, rois, argmax, scratch, data
                )
                kind = ", deterministic" if deterministic else ""
                yield Row(f"RoiPoolGrad{kind}", case.name, total, work)
            work = functools.partial(op.grad_grad, data, rois, argmax, pooled)
            yield Row("RoiPoolGradGrad", case.name, total, work)
