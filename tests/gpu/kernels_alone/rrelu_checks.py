# SPDX-License-Identifier: Apache-2.0
"""Rrelu's kernel against NumPy, to the last bit."""

import ctypes
import functools
from collections.abc import Iterator, Sequence

import numpy as np
from arguments import address
from checking import Check, assert_close, assert_on_stream, generator, random_values
from device import Buffer, Device
from numeric import FLOATING, HALF, NumericType
from rows import Row, random_buffer

_NAMES = {1: "Rrelu", 2: "RreluGrad"}  # by the number of tensors
_KEY = (0x13198A2E, 0xF3707344)
_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)
# Around the pair, the pack, the warp and the block.
_SIZES = (0, 1, 2, 3, 8, 9, 33, 257, 4099, 300_007)
_BOUNDS = ((0.125, 1 / 3), (-2.0, 1.5), (0.25, 0.25))


def _threefry(counter: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Threefry-2x32 with 20 rounds and `_KEY`."""
    keys = [np.uint32(key) for key in _KEY]
    keys.append(keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA))
    first, second = counter[0] + keys[0], counter[1] + keys[1]
    rotations = (13, 15, 26, 6), (17, 29, 16, 24)
    for group in range(5):
        for bits in rotations[group % 2]:
            first = first + second
            second = (second << np.uint32(bits)) | (second >> np.uint32(32 - bits))
            second ^= first
        first = first + keys[(group + 1) % 3]
        second = second + keys[(group + 2) % 3] + np.uint32(group + 1)
    return first, second


def _words(indices: np.ndarray, upper_bit: int) -> np.ndarray:
    """The elements' words, each half of a block."""
    pairs = (indices // 2).astype(np.uint64)
    upper = (pairs >> np.uint64(32)).astype(np.uint32) | np.uint32(upper_bit)
    first, second = _threefry([pairs.astype(np.uint32), upper])
    return np.where(indices % 2, second, first)


def _slopes(indices: np.ndarray, dtype: NumericType, bounds: tuple[float, float]) -> np.ndarray:
    lower, upper = (np.float64(np.float32(bound)) for bound in bounds)
    if lower == upper:
        return np.full(indices.shape, lower)
    words = _words(indices, 0)
    if dtype.compute == np.float64:
        more = _words(indices, 1 << 31)
        uniform = (words >> 5) * 2.0**-27 + (more >> 6) * 2.0**-53
    else:
        uniform = (words >> 8) * 2.0**-24
    width = upper - lower
    cast = dtype.compute.type
    slopes = (cast(uniform) + cast(lower / width)) * cast(width)
    return np.clip(slopes, cast(lower), cast(upper)).astype(np.float64)


def _expected(
    dtype: NumericType,
    bounds: tuple[float, float],
    values: np.ndarray,
    x: np.ndarray,
    start: int = 0,
) -> np.ndarray:
    """Of decoded values, the first of which is element `start`."""
    indices = np.arange(start, start + x.size)
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = _slopes(indices, dtype, bounds).astype(dtype.compute)
        scaled = slopes * values.astype(dtype.compute)
        return dtype.round(np.where(x >= 0, values, scaled))


def _launch(
    device: Device,
    dtype: NumericType,
    bounds: tuple[float, float],
    inputs: Sequence[Buffer],
    output: Buffer,
) -> None:
    """Of one input the unit, of two (gradients, x) its gradient."""
    device.call(
        "Kernel_Rrelu",
        ctypes.c_int32(dtype.code),
        *map(ctypes.c_float, bounds),
        *map(ctypes.c_uint32, _KEY),
        address(inputs[0]),
        address(inputs[-1]),
        address(output),
        ctypes.c_int64(output.count),
        device.stream,
    )


def _check(device: Device, dtype: NumericType, arity: int) -> None:
    for size in _SIZES:
        random = generator("rrelu", dtype.name, size)
        arrays = [random_values(random, dtype, (size,), _SPECIAL) for _ in range(arity)]
        values, x = dtype.decode(arrays[0]), dtype.decode(arrays[-1])
        for bounds in _BOUNDS:
            expected = _expected(dtype, bounds, values, x)
            for offset in (0, 1):
                with device.memory():
                    inputs = [device.upload(array, offset) for array in arrays]
                    output = device.empty(size, dtype.storage, offset)
                    _launch(device, dtype, bounds, inputs, output)
                    result = device.download(output)
                    assert_close(f"{size} values", dtype, result, expected)
                    _launch(device, dtype, bounds, inputs, inputs[0])
                    result = device.download(inputs[0])
                    assert_close(f"{size} values in place", dtype, result, expected)


def _streams(device: Device) -> None:
    for arity in (1, 2):
        with device.memory():
            buffers = [device.upload(np.zeros(9, np.float32)) for _ in range(3)]
            inputs, output = buffers[:arity], buffers[2]
            bounds = _BOUNDS[0]
            work = functools.partial(_launch, device, FLOATING[2], bounds, inputs, output)
            assert_on_stream(device, {f"{arity} inputs": work})


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for Rrelu and its gradient."""
    yield "Rrelu streams", _streams
    for arity, name in _NAMES.items():
        for dtype in FLOATING:
            check = functools.partial(_check, dtype=dtype, arity=arity)
            yield f"{name} {dtype.name}", check


def _large(device: Device, arity: int, beyond: int) -> None:
    """The first elements, those around `beyond` and the last ones: no slopes are
    alike, and NumPy takes its time for all of them."""
    random = generator("large rrelu")
    arrays = [random_values(random, HALF, (65_521,)) for _ in range(arity)]  # prime
    count, bounds = beyond + 12_345, _BOUNDS[0]
    with device.memory():
        inputs = [device.tile(array, count) for array in arrays]
        output = device.empty(count, np.float16)
        _launch(device, HALF, bounds, inputs, output)
        for start in (0, beyond - 10_000, count - 10_000):
            place = np.arange(start, start + 10_000) % 65_521
            values, x = (HALF.decode(arrays[k][place]) for k in (0, -1))
            expected = _expected(HALF, bounds, values, x, start)
            result = device.download(device.part(output, start, 10_000))
            assert_close(f"from element {start} on", HALF, result, expected)


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for tensors of more than `beyond` elements."""
    for arity, name in _NAMES.items():
        yield f"{name} half", functools.partial(_large, arity=arity, beyond=beyond)


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """The rows of both for tensors of `size` bytes."""
    for arity, name in _NAMES.items():
        for dtype in FLOATING:
            count = size // dtype.storage.itemsize
            with device.memory():
                inputs = [random_buffer(device, dtype, count) for _ in range(arity)]
                output = device.empty(count, dtype.storage)
                bounds = _BOUNDS[0]
                work = functools.partial(_launch, device, dtype, bounds, inputs, output)
                yield Row(name, dtype.name, (arity + 1) * output.size, work)
