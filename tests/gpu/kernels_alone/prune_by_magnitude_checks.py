# SPDX-License-Identifier: Apache-2.0
"""PruneByMagnitude's kernels against NumPy."""

import ctypes
import functools
from collections.abc import Iterator, Sequence

import numpy as np
from arguments import address
from checking import Check, assert_close, assert_on_stream, assert_repeats, generator, random_values
from device import Buffer, Device
from numeric import FLOATING, HALF, NumericType
from rows import Row, random_buffer

_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 0.75, -0.75)
# Around the pack, the warp and the block.
_SIZES = (0, 1, 3, 8, 33, 257, 4099, 300_007)
_THRESHOLDS = (0.75, -1.0, np.inf)


def _launch(
    device: Device, dtype: NumericType, threshold: float, inputs: Sequence[Buffer], output: Buffer
) -> None:
    """Of one input the forward kernel, of two (gradients, weights) the gradient's."""
    name = "Kernel_PruneByMagnitude" + ("Grad" if len(inputs) == 2 else "")
    device.call(
        name,
        ctypes.c_int32(dtype.code),
        ctypes.c_double(threshold),
        *map(address, inputs),
        address(output),
        ctypes.c_int64(output.count),
        device.stream,
    )


def _check(device: Device, dtype: NumericType, arity: int) -> None:
    for size in _SIZES:
        random = generator("prune", dtype.name, size)
        arrays = [random_values(random, dtype, (size,), _SPECIAL) for _ in range(arity)]
        first, weights = dtype.decode(arrays[0]), dtype.decode(arrays[-1])
        for threshold in _THRESHOLDS:
            # Also where abs(weights) is NaN.
            expected = np.where(np.abs(weights) < threshold, 0.0, first)
            for offset in (0, 1):
                with device.memory():
                    inputs = [device.upload(array, offset) for array in arrays]
                    output = device.empty(size, dtype.storage, offset)
                    _launch(device, dtype, threshold, inputs, output)
                    result = device.download(output)
                    assert_close(f"{size} values", dtype, result, expected)
                    _launch(device, dtype, threshold, inputs, inputs[0])
                    result = device.download(inputs[0])
                    assert_close(f"{size} values in place", dtype, result, expected)


def _streams(device: Device) -> None:
    for arity in (1, 2):
        with device.memory():
            buffers = [device.upload(np.zeros(9, np.float32)) for _ in range(3)]
            inputs, output = buffers[:arity], buffers[2]
            work = functools.partial(_launch, device, FLOATING[2], 0.5, inputs, output)
            assert_on_stream(device, {f"{arity} inputs": work})


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for PruneByMagnitude and its gradient."""
    yield "PruneByMagnitude streams", _streams
    for arity, name in enumerate(("PruneByMagnitude", "PruneByMagnitudeGrad"), 1):
        for dtype in FLOATING:
            check = functools.partial(_check, dtype=dtype, arity=arity)
            yield f"{name} {dtype.name}", check


def _large(device: Device, arity: int, beyond: int) -> None:
    random = generator("large prune")
    arrays = [random_values(random, HALF, (65_521,)) for _ in range(arity)]  # prime
    first, weights = HALF.decode(arrays[0]), HALF.decode(arrays[-1])
    expected = np.where(np.abs(weights) < 0.75, 0.0, first)
    with device.memory():
        inputs = [device.tile(array, beyond + 12_345) for array in arrays]
        output = device.empty(beyond + 12_345, np.float16)
        _launch(device, HALF, 0.75, inputs, output)
        assert_repeats("output", device, HALF, output, expected)


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for tensors of more than `beyond` elements."""
    for arity, name in enumerate(("PruneByMagnitude", "PruneByMagnitudeGrad"), 1):
        check = functools.partial(_large, arity=arity, beyond=beyond)
        yield f"{name} half", check


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """The rows of both kernels for tensors of `size` bytes."""
    for arity, name in enumerate(("PruneByMagnitude", "PruneByMagnitudeGrad"), 1):
        for dtype in FLOATING:
            count = size // dtype.storage.itemsize
            with device.memory():
                inputs = [random_buffer(device, dtype, count) for _ in range(arity)]
                output = device.empty(count, dtype.storage)
                work = functools.partial(_launch, device, dtype, 0.75, inputs, output)
                yield Row(name, dtype.name, (arity + 1) * output.size, work)
