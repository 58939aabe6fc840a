# SPDX-License-Identifier: Apache-2.0
"""ClipByGlobalNorm's kernels against NumPy in float64 (and beyond its range)."""

import ctypes
import functools
from collections.abc import Iterator, Sequence

import numpy as np
from arguments import address, addresses, array
from checking import (
    Check,
    assert_close,
    assert_last,
    assert_on_stream,
    assert_same_bits,
    copies_beyond,
    generator,
    random_values,
)
from device import Buffer, Device
from numeric import DOUBLE, FLOAT, FLOATING, HALF, NumericType
from rows import Row, random_buffer

# Sizes of the tensors of one call: around the pack, the block and the unit of
# work, none at all, and more tensors than one launch takes.
_LISTS: tuple[tuple[int, ...], ...] = (
    (1,),
    (0,),
    (0, 0, 3),
    (7, 33, 257, 0, 1),
    (16384, 16385, 16383, 5),
    (100_003, 1, 40_000),
    tuple(range(90)),
    (16384,) * 81,
)


class _Clip:
    """Both launchers for one list of tensors; outputs may be inputs."""

    def __init__(self, device: Device, dtype: NumericType, values: Sequence[Buffer]) -> None:
        self._device = device
        self._dtype = dtype
        self._values = values
        self._sizes = array(ctypes.c_int64, [value.count for value in values])
        size = ctypes.c_int64()
        count = ctypes.c_int64(len(values))
        device.call("Kernel_ClipScratch", count, self._sizes, ctypes.byref(size))
        self._scratch = device.empty(size.value, np.uint8)
        self.scalar = device.empty(1, dtype.storage)  # norm, or clip_norm's gradient

    def forward(self, clip_norm: float, outputs: Sequence[Buffer]) -> None:
        """Launches LaunchClipByGlobalNorm."""
        self._call("Kernel_ClipByGlobalNorm", [], clip_norm, outputs)

    def grad(
        self,
        gradients: Sequence[Buffer],
        norm_gradient: Buffer,
        clip_norm: float,
        outputs: Sequence[Buffer],
    ) -> None:
        """Launches LaunchClipByGlobalNormGrad."""
        upstream = [addresses(gradients), address(norm_gradient)]
        self._call("Kernel_ClipByGlobalNormGrad", upstream, clip_norm, outputs)

    def _call(self, name: str, upstream: list, clip_norm: float, outputs: Sequence[Buffer]) -> None:
        self._device.call(
            name,
            ctypes.c_int32(self._dtype.code),
            ctypes.c_int64(len(self._values)),
            self._sizes,
            *upstream,
            addresses(self._values),
            addresses(outputs),
            ctypes.c_double(clip_norm),
            address(self._scratch),
            address(self.scalar),
            self._device.stream,
        )


def _dot(x: Sequence[np.ndarray], y: Sequence[np.ndarray]) -> float:
    return float(sum(np.sum(a * b) for a, b in zip(x, y, strict=True)))


def _forward(values: Sequence[np.ndarray], clip_norm: float) -> tuple[list[np.ndarray], float]:
    """Clipped values and norm."""
    norm = np.sqrt(_dot(values, values))
    scale = clip_norm / norm if norm > clip_norm else 1.0
    return [value * scale for value in values], norm


def _backward(
    gradients: Sequence[np.ndarray],
    norm_gradient: float,
    values: Sequence[np.ndarray],
    clip_norm: float,
) -> tuple[list[np.ndarray], float]:
    """The gradients of values and of clip_norm."""
    norm = np.sqrt(_dot(values, values))
    units = [value / norm if norm else value for value in values]
    projection = _dot(gradients, units)
    if norm <= clip_norm:
        scale, along, of_clip_norm = 1.0, norm_gradient, 0.0
    else:
        scale, of_clip_norm = clip_norm / norm, projection
        along = norm_gradient - scale * projection
    pairs = zip(gradients, units, strict=True)
    return [scale * g + along * u for g, u in pairs], of_clip_norm


# Sums in float64 come in another order: a few of its roundoffs.
_SLACK = 1e-11


def _check(device: Device, dtype: NumericType, sizes: tuple[int, ...], offset: int) -> None:
    values, gradients = _random_lists(dtype, sizes)
    exact = [dtype.decode(value) for value in values]
    norm = float(np.sqrt(_dot(exact, exact)))
    for clip_norm in (0.0, norm / 4, 2 * norm + 1, np.inf):
        for in_place in (False, True):
            _check_one(device, dtype, values, gradients, clip_norm, in_place, offset=offset)


def _random_lists(
    dtype: NumericType, sizes: tuple[int, ...]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Values and gradients."""
    random = generator("clip", dtype.name, sizes)
    values = [random_values(random, dtype, (size,)) for size in sizes]
    gradients = [random_values(random, dtype, (size,)) for size in sizes]
    return values, gradients


def _check_one(
    device: Device,
    dtype: NumericType,
    values: Sequence[np.ndarray],
    gradients: Sequence[np.ndarray],
    clip_norm: float,
    in_place: bool,
    offset: int = 0,
    copies: int = 1,
) -> None:
    """Both ops; with `copies` - 1 times as many zeros in front of the arrays."""
    exact = [dtype.decode(value) for value in values]
    upstream = [dtype.decode(gradient) for gradient in gradients]
    clipped, norm = _forward(exact, clip_norm)
    backprops, of_clip_norm = _backward(upstream, 1.5, exact, clip_norm)
    with device.memory():
        inputs = [device.last_of(value, copies, offset) for value in values]
        given = [device.last_of(gradient, copies, offset) for gradient in gradients]
        outputs = [device.empty(x.shape, dtype.storage, offset) for x in inputs]
        norm_gradient = device.upload(dtype.encode(np.array([1.5])))
        op = _Clip(device, dtype, inputs)
        results = given if in_place else outputs
        op.grad(given, norm_gradient, clip_norm, results)
        _assert_all("gradient", device, dtype, results, backprops)
        _assert_scalar("clip_norm's", device, dtype, op, of_clip_norm)

        results = inputs if in_place else outputs
        op.forward(clip_norm, results)
        _assert_all("clipped", device, dtype, results, clipped)
        _assert_scalar("norm", device, dtype, op, norm)


def _large(device: Device, beyond: int) -> None:
    sizes = 65_521, 5, 1000  # the first is a prime
    values, gradients = _random_lists(HALF, sizes)
    copies = copies_beyond(beyond, sizes[0])
    _check_one(device, HALF, values, gradients, 10.0, False, copies=copies)


def _assert_all(
    what: str,
    device: Device,
    dtype: NumericType,
    buffers: Sequence[Buffer],
    expected: Sequence[np.ndarray],
) -> None:
    for index, (buffer, wanted) in enumerate(zip(buffers, expected, strict=True)):
        assert_last(f"{what} {index}", device, dtype, buffer, wanted, 2, _SLACK)


def _assert_scalar(
    what: str, device: Device, dtype: NumericType, op: _Clip, expected: float
) -> None:
    stored = device.download(op.scalar)
    wanted = dtype.round(np.array([expected]))
    assert_close(what, dtype, stored, wanted, 2, _SLACK)


def _extremes(device: Device) -> None:
    """Squares that leave the range of the type, and norms that are not finite."""
    for dtype, values, clip_norm, clipped, norm in (
        (FLOAT, [3e-36, 4e-36], 2.5e-36, [1.5e-36, 2e-36], 5e-36),
        (FLOAT, [1.5e38, 2e38], 5.0, [3.0, 4.0], 2.5e38),
        (DOUBLE, [3e200, 4e200, 1.0, 1e-200], 5.0, [3.0, 4.0, 1e-200, 0.0], 5e200),
        (DOUBLE, [3e-200, 4e-200], 2.5e-200, [1.5e-200, 2e-200], 5e-200),
        (DOUBLE, [3.0, 4.0, 1e-200], 5.0, [3.0, 4.0, 1e-200], 5.0),
        (FLOAT, [np.inf, 1.0], 1.0, [np.nan, np.nan], np.inf),
        (FLOAT, [np.inf, 1.0], np.inf, [np.nan, np.nan], np.inf),
        (DOUBLE, [np.nan, 1e200], 1.0, [np.nan, np.nan], np.nan),
    ):
        stored = dtype.encode(np.array(values))
        with device.memory():
            op = _Clip(device, dtype, [device.upload(stored)])
            output = device.empty(len(values), dtype.storage)
            op.forward(clip_norm, [output])
            result = device.download(output)
            assert_close(f"{values}", dtype, result, np.array(clipped), 8)
            result = device.download(op.scalar)
            assert_close(f"norm of {values}", dtype, result, np.array([norm]), 8)


def _repeatable(device: Device) -> None:
    """The same bits ten times over."""
    random = generator("repeatable")
    arrays = [random.standard_normal(30_001).astype(np.float32) for _ in range(9)]
    with device.memory():
        inputs = [device.upload(values) for values in arrays]
        outputs = [device.empty(30_001, np.float32) for _ in arrays]
        op = _Clip(device, FLOAT, inputs)
        launch = functools.partial(op.grad, inputs[::-1], inputs[0], 2.0, outputs)
        assert_same_bits(device, launch, [*outputs, op.scalar])


def _streams(device: Device) -> None:
    for dtype in FLOATING:
        with device.memory():
            buffers = [device.upload(np.zeros(9, dtype.storage)) for _ in range(3)]
            op = _Clip(device, dtype, buffers)
            launches = {
                "ClipByGlobalNorm": functools.partial(op.forward, 1.0, buffers),
                "ClipByGlobalNormGrad": functools.partial(
                    op.grad, buffers, op.scalar, 1.0, buffers
                ),
            }
            assert_on_stream(device, launches)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for ClipByGlobalNorm and its gradient."""
    yield "ClipByGlobalNorm streams", _streams
    for dtype in FLOATING:
        for sizes in _LISTS:
            for offset in (0, 1):
                name = f"ClipByGlobalNorm {dtype.name} {len(sizes)} x {max(sizes)}"
                check = functools.partial(_check, dtype=dtype, sizes=sizes, offset=offset)
                yield f"{name}, offset {offset}", check
    yield "ClipByGlobalNorm extremes", _extremes
    yield "ClipByGlobalNorm repeatable", _repeatable


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for a list with a tensor of more than `beyond` elements."""
    yield "ClipByGlobalNorm half", functools.partial(_large, beyond=beyond)


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """200 tensors of `size` bytes in all: values are read twice and written."""
    tensors = 200
    for dtype in FLOATING:
        count = max(1, size // tensors // dtype.storage.itemsize)
        with device.memory():
            buffers = [
                [random_buffer(device, dtype, count) for _ in range(tensors)] for _ in range(2)
            ]
            outputs = [device.empty(count, dtype.storage) for _ in range(tensors)]
            op = _Clip(device, dtype, buffers[0])
            norm_gradient = random_buffer(device, dtype, 1)
            total = tensors * outputs[0].size
            forward = functools.partial(op.forward, 1.0, outputs)
            yield Row(f"ClipByGlobalNorm, {tensors}", dtype.name, 3 * total, forward)
            grad = functools.partial(op.grad, buffers[1], norm_gradient, 1.0, outputs)
            yield Row(f"ClipByGlobalNormGrad, {tensors}", dtype.name, 5 * total, grad)
