"""Resampler's kernels against NumPy in float64."""

import ctypes
import functools
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from checking import Check, assert_repeats, copies_beyond, generator, random_values
from device import Device
from numeric import FLOAT, FLOATING, HALF, NumericType
from rows import Row, check_repeatable, random_buffer

Shape = tuple[int, int, int, int]
Order = tuple[int, int]

# Shapes of the images, and the number of points in each.
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
    """Points inside, around and outside the images, at whole numbers and elsewhere."""
    images, height, width, _ = shape
    reach = np.array([width, height])
    warp = random.uniform(-0.2, 1.2, (images, points, 2)) * (reach + 1) - 1
    quarters = np.round(4 * warp) / 4
    warp = np.where(random.random(warp.shape) < 0.3, quarters, warp)
    chosen = random.choice(np.array(_SPECIAL), warp.shape)
    return dtype.encode(np.where(random.random(warp.shape) < 0.05, chosen, warp))


def _weights(warp: np.ndarray, height: int, width: int, order: Order) -> np.ndarray:
    """Every pixel's weight in every point, [N, P, H, W].

    M. Jaderberg et al., "Spatial Transformer Networks", NeurIPS 2015, section
    3.3; differentiated `order` times by x and y.
    """
    x = _side(warp[..., 0], width, order[0])
    y = _side(warp[..., 1], height, order[1])
    return y[..., :, np.newaxis] * x[..., np.newaxis, :]


def _side(at: np.ndarray, pixels: int, order: int) -> np.ndarray:
    inside = (at > -1) & (at < pixels)
    at = np.where(inside, at, 0)[..., np.newaxis]
    low = np.floor(at)
    fraction = at - low
    below, above = (-1.0, 1.0) if order else (1 - fraction, fraction)
    pixel = np.arange(pixels)
    result = np.where(pixel == low, below, 0) + np.where(pixel == low + 1, above, 0)
    return np.where(inside[..., np.newaxis], result, 0)


class _ResamplerOrder(ctypes.Structure):
    """A struct that is passed by value."""

    _fields_ = (("x", ctypes.c_int32), ("y", ctypes.c_int32))


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
    x, at, dy = (dtype.decode(stored) for stored in (data, warp, gradients))
    images = copies * shape[0]

    def compare(
        what: str,
        equation: str,
        factors: Sequence[np.ndarray],
        roundings: np.ndarray | int,
        launcher: str,
        *arguments: Any,
    ) -> None:
        """A product of factors, with the launcher's struct for the arguments."""
        expected = dtype.round(np.einsum(equation, *factors))
        size = np.einsum(equation, *map(np.abs, factors))
        slack = roundings * size * dtype.epsilon
        dims = struct.pack("5q", images, *shape[1:], points)
        for offset in (0, 1):
            with device.memory():
                output = device.empty((images, *expected.shape[1:]), dtype.storage, offset)
                given = [
                    device.repeat(a, copies, offset) if isinstance(a, np.ndarray) else a
                    for a in arguments
                ]
                device.launch(launcher, dtype, dims, *given, output)
                name = f"{what}, offset {offset}"
                assert_repeats(name, device, dtype, output, expected, 2, slack)

    with device.memory():
        on_device = device.repeat(warp, copies, 1)
        sums = device.sums(dtype, (images, *shape[1:]))
        for order in orders:
            pixels, by_value = _weights(at, *shape[1:3], order), _ResamplerOrder(*order)
            arguments = "Resample", by_value, data, on_device
            compare(f"order {order}", "npyx,nyxc->npc", (pixels, x), 8, *arguments)
            terms = np.einsum("npyx->nyx", pixels != 0)[..., np.newaxis]
            for deterministic in (False, True):
                name = f"data's gradient, order {order}, deterministic: {deterministic}"
                arguments = "ResamplerAdjoint", by_value, deterministic, gradients, on_device, sums
                compare(name, "npyx,npc->nyxc", (pixels, dy), 4 + terms, *arguments)
        slopes = np.stack([_weights(at, *shape[1:3], order) for order in ((1, 0), (0, 1))], -1)
        arguments = "ResamplerWarpGrad", gradients, data, on_device
        factors = slopes, dy, x
        compare("warp's gradient", "npyxk,npc,nyxc->npk", factors, 8 + shape[-1], *arguments)


SMALL = [((2, 5, 6, 4), 7)]


def rows(
    device: Device,
    dtype: NumericType,
    shape: Shape,
    count: int,
    make_warp: Callable[..., np.ndarray] = _warp,
) -> Iterator[Row]:
    """`count` points of each image."""
    points = device.upload(make_warp(generator("resampler rows"), dtype, shape, count))
    data = random_buffer(device, dtype, shape)
    output = random_buffer(device, dtype, (shape[0], count, shape[3]))
    by_warp = device.empty(points.shape, dtype.storage)
    sums, order = device.sums(dtype, shape), _ResamplerOrder(0, 0)
    dims = struct.pack("5q", *shape, count)
    total = data.size + points.size + output.size
    adjoint = output, points, sums, data
    for name, launcher, size, arguments in (
        ("", "Resample", total, (order, data, points, output)),
        (
            "Grad of warp",
            "ResamplerWarpGrad",
            total + by_warp.size,
            (output, data, points, by_warp),
        ),
        ("Grad of data", "ResamplerAdjoint", total, (order, False, *adjoint)),
        ("Grad of data, deterministic", "ResamplerAdjoint", total, (order, True, *adjoint)),
    ):
        work = functools.partial(device.launch, launcher, dtype, dims, *arguments)
        repeatable = [data] if "deterministic" in name else []
        yield Row(f"Resampler{name}", f"{dtype.name}, C = {shape[3]}", size, work, repeatable)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for Resampler and its gradients."""
    partial = functools.partial
    for dtype in FLOATING:
        for shape, points in _PROBLEMS:
            name = f"Resampler {dtype.name} {shape}, {points} points"
            yield name, partial(_check, shape=shape, points=points, dtype=dtype)
    launches = partial(rows, dtype=FLOAT, shape=(2, 8, 8, 16), count=2000)
    yield "ResamplerGrad repeatable", partial(check_repeatable, rows=launches)


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than `beyond` elements of data, output, and warp."""
    cases: tuple[tuple[str, Shape, int, int], ...] = (
        ("data", (3, 8, 8, 32), 3, 8 * 8 * 32),
        ("output", (3, 2, 3, 32), 64, 64 * 32),
        ("warp", (3, 2, 3, 1), 1024, 1024 * 2),
    )
    for name, shape, points, size in cases:
        problem = {"shape": shape, "points": points, "copies": copies_beyond(beyond, 3 * size)}
        check = functools.partial(_check, dtype=HALF, orders=((0, 0),), **problem)
        yield f"Resampler half of {name}", check


def _smooth_warp(
    random: np.random.Generator, dtype: NumericType, shape: Shape, points: int
) -> np.ndarray:
    """Every pixel, and positions away from it."""
    grid = np.stack(np.meshgrid(np.arange(shape[2]), np.arange(shape[1])), axis=-1)
    return dtype.encode(grid.reshape(1, -1, 2) + random.uniform(-2, 2, (shape[0], points, 2)))


def timed(size: int) -> Iterator[tuple]:
    """A smooth deformation of images of [4, 256, 256, C]."""
    images, side = 4, 256
    for dtype in FLOATING:
        pixel_bytes = images * side**2 * dtype.storage.itemsize
        channels = min(512, max(8, size // pixel_bytes // 8 * 8))
        yield dtype, (images, side, side, channels), side**2, _smooth_warp
