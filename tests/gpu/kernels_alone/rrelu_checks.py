"""Rrelu's kernel against NumPy, to the last bit."""

import functools
import struct
from collections.abc import Iterator, Sequence

import numpy as np
import pointwise_checks
import threefry
from checking import Check, assert_close, generator, random_values
from device import Buffer, Device
from numeric import FLOATING, HALF, NumericType
from pointwise_checks import check_elementwise, same_shapes
from pointwise_kernels import PointwiseKernel

_KEY = (0x13198A2E, 0xF3707344)


def _slopes(indices: np.ndarray, dtype: NumericType, bounds: Sequence[float]) -> np.ndarray:
    lower, upper = (np.float64(np.float32(bound)) for bound in bounds)
    if lower == upper:
        return np.full(indices.shape, lower)
    key = np.uint32(_KEY[0]), np.uint32(_KEY[1])
    uniform = threefry.uniform(key, indices, dtype.compute == np.float64)
    width = upper - lower
    cast = dtype.compute.type
    slopes = (cast(uniform) + cast(lower / width)) * cast(width)
    return np.clip(slopes, cast(lower), cast(upper)).astype(np.float64)


class _Rrelu(PointwiseKernel):
    """With one input, the unit; with two (gradients, x), its gradient. The attributes are the
    bounds of the slopes."""

    def launch(
        self, device: Device, dtype: NumericType, inputs: list[Buffer], outputs: list[Buffer]
    ) -> None:
        """Launches LaunchRrelu."""
        slopes = struct.pack("ffII", *self.attributes, *_KEY)
        output = outputs[0]
        device.launch("Rrelu", dtype, slopes, inputs[0], inputs[-1], output, output.count)

    def expected(
        self, dtype: NumericType, inputs: Sequence[np.ndarray], start: int = 0
    ) -> np.ndarray:
        """The result for inputs that start at element `start`."""
        values, x = inputs[0], inputs[-1]
        indices = np.arange(start, start + x.size)
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = _slopes(indices, dtype, self.attributes).astype(dtype.compute)
            scaled = slopes * values.astype(dtype.compute)
            return dtype.round(np.where(x >= 0, values, scaled))


_KERNELS = [
    _Rrelu(name, arity, _slopes, bounds, extremes=False)
    for arity, name in enumerate(("Rrelu", "RreluGrad"), 1)
    for bounds in ((-2.0, 1.5), (0.25, 0.25), (0.125, 1 / 3))
]
_TIMED = _KERNELS[2::3]


SMALL = [(kernel, [(9,)] * (kernel.arity + 1)) for kernel in _TIMED]
rows = pointwise_checks.rows
timed = functools.partial(same_shapes, _TIMED)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for Rrelu and its gradient."""
    for kernel in _KERNELS:
        for dtype in FLOATING:
            check = functools.partial(check_elementwise, kernel=kernel, dtype=dtype)
            yield f"{kernel.title} {dtype.name}", check


def _large(device: Device, kernel: _Rrelu, beyond: int) -> None:
    """The first elements, those around `beyond` and the last ones: all slopes differ, and
    NumPy is too slow for all of them."""
    random = generator("large rrelu")
    arrays = [random_values(random, HALF, (65_521,)) for _ in range(kernel.arity)]  # prime
    count = beyond + 12_345
    with device.memory():
        inputs = [device.tile(array, count) for array in arrays]
        output = device.empty(count, np.float16)
        kernel.launch(device, HALF, inputs, [output])
        for start in (0, beyond - 10_000, count - 10_000):
            place = np.arange(start, start + 10_000) % 65_521
            expected = kernel.expected(HALF, [HALF.decode(x[place]) for x in arrays], start)
            result = device.download(device.part(output, start, 10_000))
            assert_close(f"from element {start} on", HALF, result, expected)


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for tensors of more than `beyond` elements."""
    for kernel in _TIMED:
        yield f"{kernel.name} half", functools.partial(_large, kernel=kernel, beyond=beyond)
