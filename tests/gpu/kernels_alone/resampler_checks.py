# SPDX-License-Identifier: Apache-2.0
"""Resampler's kernels against their reference."""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from checking import (
    Check,
    assert_on_stream,
    assert_repeats,
    assert_same_bits,
    copies_beyond,
    generator,
    random_values,
)
from device import Buffer, Device
from numeric import FLOAT, FLOATING, HALF, NumericType
from resampler_kernels import Order, Resampler, weights
from rows import Row, random_buffer

Shape = tuple[int, int, int, int]

# Shapes of the images, and points of each.
_PROBLEMS: tuple[tuple[Shape, int], ...] = (
    ((1, 1, 1, 1), 1),
    ((2, 5, 6, 4), 9),
    ((2, 5, 6, 24), 9),
    ((3, 24, 31, 9), 300),
    ((2, 3, 4, 33), 12),
    ((1, 17, 13, 1), 1000),
    ((1, 8, 9, 72), 257),
    ((1, 3, 4, 272), 20),  # more packs than a warp has threads, of every type
    ((1, 5, 4, 300), 20),  # more channels than threads
    ((0, 4, 4, 2), 3),
    ((2, 0, 4, 2), 3),
    ((2, 4, 4, 0), 3),
    ((2, 4, 4, 2), 0),
)
_ORDERS: tuple[Order, ...] = ((0, 0), (1, 0), (0, 1), (1, 1))
_SPECIAL = (np.nan, np.inf, -np.inf, 1e30, -1.0, 0.0, 2.0)


def _warp(random: np.random.Generator, dtype: NumericType, shape: Shape, points: int) -> np.ndarray:
    """Points inside, around and outside the images, on whole numbers and anything."""
    images, height, width, _ = shape
    reach = np.array([width, height])
    warp = random.uniform(-0.2, 1.2, (images, points, 2)) * (reach + 1) - 1
    quarters = np.round(4 * warp) / 4
    warp = np.where(random.random(warp.shape) < 0.3, quarters, warp)
    chosen = random.choice(np.array(_SPECIAL), warp.shape)
    return dtype.encode(np.where(random.random(warp.shape) < 0.05, chosen, warp))


def _check(
    device: Device,
    shape: Shape,
    points: int,
    dtype: NumericType,
    orders: Sequence[Order] = _ORDERS,
    copies: int = 1,
) -> None:
    """The images, and the points with them, repeat `copies` times."""
    random = generator("resampler", shape, points, dtype.name)
    data = random_values(random, dtype, shape)
    warp = _warp(random, dtype, shape, points)
    gradients = random_values(random, dtype, (shape[0], points, shape[3]))
    op = Resampler(device, dtype, (copies * shape[0], *shape[1:]), points)
    with device.memory():
        on_device = device.repeat(warp, copies, 1)
        for order in orders:
            pixels = weights(dtype.decode(warp), *shape[1:3], order)
            _check_forward(op, order, pixels, data, on_device, copies)
            _check_adjoint(op, order, pixels, gradients, on_device, copies)

        exact, exact_data = dtype.decode(gradients), dtype.decode(data)
        expected, size = np.empty(warp.shape), np.empty(warp.shape)
        for k, order in enumerate(((1, 0), (0, 1))):
            pixels = weights(dtype.decode(warp), *shape[1:3], order)
            by = "npyx,npc,nyxc->np"
            expected[..., k] = np.einsum(by, pixels, exact, exact_data)
            absolute = map(np.abs, (pixels, exact, exact_data))
            size[..., k] = np.einsum(by, *absolute)
        slack = (8 + shape[-1]) * size * np.finfo(dtype.compute).eps
        expected = dtype.round(expected)
        for offset in (0, 1):
            with device.memory():
                backprops = device.empty(op.warp_shape, dtype.storage, offset)
                op.warp_grad(
                    device.repeat(gradients, copies, offset),
                    device.repeat(data, copies, offset),
                    on_device,
                    backprops,
                )
                name = f"warp's gradient, offset {offset}"
                assert_repeats(name, device, dtype, backprops, expected, 2, slack)


def _check_forward(
    op: Resampler, order: Order, pixels: np.ndarray, data: np.ndarray, warp: Buffer, copies: int
) -> None:
    device, dtype = op.device, op.dtype
    exact = dtype.decode(data)
    expected = dtype.round(np.einsum("npyx,nyxc->npc", pixels, exact))
    size = np.einsum("npyx,nyxc->npc", np.abs(pixels), np.abs(exact))
    slack = 8 * size * np.finfo(dtype.compute).eps
    for offset in (0, 1):
        with device.memory():
            output = device.empty(op.output_shape, dtype.storage, offset)
            op.forward(order, device.repeat(data, copies, offset), warp, output)
            name = f"order {order}, offset {offset}"
            assert_repeats(name, device, dtype, output, expected, 2, slack)


def _check_adjoint(
    op: Resampler,
    order: Order,
    pixels: np.ndarray,
    gradients: np.ndarray,
    warp: Buffer,
    copies: int,
) -> None:
    device, dtype = op.device, op.dtype
    exact = dtype.decode(gradients)
    expected = dtype.round(np.einsum("npyx,npc->nyxc", pixels, exact))
    size = np.einsum("npyx,npc->nyxc", np.abs(pixels), np.abs(exact))
    terms = np.einsum("npyx->nyx", pixels != 0)[..., np.newaxis]
    slack = (4 + terms) * size * np.finfo(dtype.compute).eps
    for deterministic, offset in itertools.product((False, True), (0, 1)):
        with device.memory():
            upstream = device.repeat(gradients, copies, offset)
            backprops = device.empty(op.data_shape, dtype.storage, offset)
            op.adjoint(order, deterministic, upstream, warp, op.sums(), backprops)
            name = (
                f"data's gradient, order {order}, deterministic: {deterministic}, offset {offset}"
            )
            assert_repeats(name, device, dtype, backprops, expected, 2, slack)


def _repeatable(device: Device) -> None:
    """The deterministic gradient gives the same bits ten times over."""
    random = generator("repeatable", "resampler")
    shape, points = (2, 8, 8, 16), 2000
    with device.memory():
        op = Resampler(device, FLOAT, shape, points)
        warp = device.upload(_warp(random, FLOAT, shape, points))
        gradients = random.standard_normal(op.output_shape).astype(np.float32)
        upstream = device.upload(gradients)
        backprops = device.empty(shape, np.float32)
        arguments = upstream, warp, None, backprops
        launch = functools.partial(op.adjoint, (0, 0), True, *arguments)
        assert_same_bits(device, launch, [backprops])


def _streams(device: Device) -> None:
    """Resampler's launches go to the stream they are given."""
    for dtype in FLOATING:
        with device.memory():
            shape, points = (2, 5, 6, 4), 7
            op = Resampler(device, dtype, shape, points)
            data = device.upload(np.zeros(shape, dtype.storage))
            warp = device.upload(np.zeros(op.warp_shape, dtype.storage))
            output = device.upload(np.zeros(op.output_shape, dtype.storage))
            sums = op.sums()
            work = {
                "Resampler": functools.partial(op.forward, (0, 0), data, warp, output),
                "warp's gradient": functools.partial(op.warp_grad, output, data, warp, warp),
            }
            for deterministic in (False, True):
                work[f"data's gradient, deterministic: {deterministic}"] = functools.partial(
                    op.adjoint, (0, 0), deterministic, output, warp, sums, data
                )
            assert_on_stream(device, work)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for Resampler and its gradients."""
    yield "Resampler streams", _streams
    for dtype in FLOATING:
        for shape, points in _PROBLEMS:
            name = f"Resampler {dtype.name} {shape}, {points} points"
            yield (name, functools.partial(_check, shape=shape, points=points, dtype=dtype))
    yield "ResamplerGrad repeatable", _repeatable


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than `beyond` elements of data, output, and warp."""
    cases: tuple[tuple[str, Shape, int, int], ...] = (
        ("data", (3, 8, 8, 32), 3, 8 * 8 * 32),
        ("output", (3, 2, 3, 32), 64, 64 * 32),
        ("warp", (3, 2, 3, 1), 1024, 1024 * 2),
    )
    for name, shape, points, size in cases:
        check = functools.partial(
            _check,
            shape=shape,
            points=points,
            dtype=HALF,
            orders=((0, 0),),
            copies=copies_beyond(beyond, shape[0] * size),
        )
        yield f"Resampler half of {name}", check


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """A smooth deformation of images of [4, 256, 256, C]."""
    random = generator("timing", "resampler")
    images, side = 4, 256
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1)
    warp = grid.reshape(1, -1, 2) + random.uniform(-2, 2, (images, side**2, 2))
    for dtype in FLOATING:
        pixel_bytes = images * side**2 * dtype.storage.itemsize
        channels = min(512, max(8, size // pixel_bytes // 8 * 8))
        with device.memory():
            shape = (images, side, side, channels)
            op = Resampler(device, dtype, shape, side**2)
            data = random_buffer(device, dtype, math.prod(shape))
            output = random_buffer(device, dtype, math.prod(op.output_shape))
            points = device.upload(dtype.encode(warp))
            by_warp = device.empty(op.warp_shape, dtype.storage)
            sums = op.sums()
            name = f"{dtype.name}, C = {channels}"
            total = data.size + points.size + output.size
            work = functools.partial(op.forward, (0, 0), data, points, output)
            yield Row("Resampler", name, total, work)
            work = functools.partial(op.warp_grad, output, data, points, by_warp)
            yield Row("ResamplerGrad of warp", name, total + by_warp.size, work)
            for deterministic in (False, True):
                work = functools.partial(
                    op.adjoint, (0, 0), deterministic, output, points, sums, data
                )
                kind = ", deterministic" if deterministic else ""
                yield Row(f"ResamplerGrad of data{kind}", name, total, work)
