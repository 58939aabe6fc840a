# SPDX-License-Identifier: Apache-2.0
"""Sparsemax's kernels against NumPy in float64."""

import ctypes
import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from arguments import address
from checking import (
    Check,
    assert_last,
    assert_on_stream,
    assert_repeats,
    assert_same_bits,
    copies_beyond,
    generator,
    random_values,
)
from device import Buffer, Device
from numeric import FLOATING, HALF, NumericType
from row_shapes import ROW_SHAPES
from rows import Row, random_buffer

# Rounding errors of the compute type, beside what a sum is divided by.
_ROUNDINGS = 64


@dataclasses.dataclass(frozen=True)
class _Sparsemax:
    """The launchers for matrices [rows, size]."""

    device: Device
    dtype: NumericType
    rows: int
    size: int

    def forward(self, logits: Buffer, y: Buffer) -> None:
        """y may be logits."""
        self._call("Kernel_Sparsemax", logits, y)

    def backward(self, gradients: Buffer, y: Buffer, backprops: Buffer) -> None:
        """backprops may be gradients."""
        self._call("Kernel_SparsemaxGrad", gradients, y, backprops)

    def _call(self, name: str, *tensors: Buffer) -> None:
        self.device.call(
            name,
            ctypes.c_int32(self.dtype.code),
            ctypes.c_int64(self.rows),
            ctypes.c_int64(self.size),
            *[address(tensor) for tensor in tensors],
            self.device.stream,
        )


def _project(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """y, and the mean of its elements above 0 as a column.

    By sorting: A. F. T. Martins and R. F. Astudillo, "From Softmax to Sparsemax",
    arXiv:1602.02068, algorithm 1. Its sums cancel, so they are not in float64.
    """
    if not x.size:
        return x, x
    with np.errstate(invalid="ignore"):
        x = x - np.max(x, axis=1, keepdims=True)
        x[~np.isfinite(x).any(axis=1)] = np.nan
        ordered = -np.sort(-x, axis=1)
        sums = np.cumsum(ordered, axis=1, dtype=np.longdouble) - 1
        counts = np.arange(1, x.shape[1] + 1)
        size = np.sum(counts * ordered > sums, axis=1, keepdims=True)
        threshold = np.take_along_axis(sums, size - 1, axis=1) / size
        y = np.where(np.isnan(threshold), np.nan, np.maximum(x - threshold, 0))
    return y.astype(np.float64), 1 / np.maximum(size, 1)


def _differentiate(gradients: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradient, and the mean of its terms' sizes as a column."""
    in_support = y > 0
    size = np.maximum(np.sum(in_support, axis=1, keepdims=True), 1)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.sum(np.where(in_support, values, 0), axis=1, keepdims=True) / size

    backprops = np.where(in_support, gradients - mean(gradients), 0)
    backprops[np.isnan(y).any(axis=1)] = np.nan
    return backprops, mean(np.abs(gradients))


def _slack(dtype: NumericType, size: np.ndarray, like: np.ndarray) -> np.ndarray:
    slack = _ROUNDINGS * np.finfo(dtype.compute).eps * size
    return np.broadcast_to(np.nan_to_num(slack), like.shape)


def _logits(random: np.random.Generator, dtype: NumericType, shape: tuple[int, int]) -> np.ndarray:
    """Rows with many, some and few elements above the threshold; special ones."""
    x = dtype.decode(random_values(random, dtype, shape))
    x *= random.choice([0.001, 0.1, 1, 10], (shape[0], 1))
    if len(x) >= 4 and x.shape[1] >= 2:
        x[0] = 1000  # all equal, and large
        x[1, -1] = np.nan
        x[2, 0] = np.inf
        x[3, ::2] = -np.inf
    if len(x) >= 5:
        x[4] = -np.inf
    return dtype.round(x)


def _check_forward(op: _Sparsemax, offset: int, in_place: bool, copies: int = 1) -> None:
    """The addresses are `offset` elements off their alignment; the rows are
    `copies` times the same."""
    device, dtype, shape = op.device, op.dtype, (op.rows // copies, op.size)
    x = _logits(generator("sparsemax", dtype.name, shape, offset), dtype, shape)
    y, unit = _project(x)
    with device.memory():
        logits = device.repeat(dtype.encode(x), copies, offset)
        output = logits
        if not in_place:
            output = device.empty((op.rows, op.size), dtype.storage, offset)
        op.forward(logits, output)
        slack = _slack(dtype, unit, y)
        assert_repeats("y", device, dtype, output, dtype.round(y), 2, slack)


def _check_backward(op: _Sparsemax, offset: int, in_place: bool, copies: int = 1) -> None:
    """See _check_forward; only the last copy has gradients that are not 0."""
    device, dtype, shape = op.device, op.dtype, (op.rows // copies, op.size)
    random = generator("gradient", dtype.name, shape, offset)
    gradients = random_values(random, dtype, shape)
    y = dtype.round(np.maximum(random.standard_normal(shape), 0))
    if copies == 1 and len(y) >= 3 and op.size:
        y[0] = 0  # no element in the support
        y[1, -1] = np.nan
    expected, terms = _differentiate(dtype.decode(gradients), y)
    with device.memory():
        upstream = device.last_of(gradients, copies, offset)
        output = upstream
        if not in_place:
            output = device.empty((op.rows, op.size), dtype.storage, offset)
        op.backward(upstream, device.repeat(dtype.encode(y), copies, offset), output)
        slack = _slack(dtype, terms, expected)
        rounded = dtype.round(expected)
        assert_last("backprops", device, dtype, output, rounded, 2, slack)


def _check(device: Device, dtype: NumericType, rows: int, size: int) -> None:
    op = _Sparsemax(device, dtype, rows, size)
    for offset, in_place in ((0, False), (0, True), (1, False)):
        _check_forward(op, offset, in_place)
        _check_backward(op, offset, in_place)


def _check_large(device: Device, size: int, beyond: int) -> None:
    rows = 31
    copies = copies_beyond(beyond, rows * size)
    op = _Sparsemax(device, HALF, copies * rows, size)
    _check_forward(op, 0, False, copies)
    _check_backward(op, 0, False, copies)


def _repeatable(device: Device) -> None:
    """The same bits ten times over."""
    for size in (200, 3000, 20_000):
        with device.memory():
            op = _Sparsemax(device, HALF, 20, size)
            x, gradients = (random_buffer(device, HALF, 20 * size) for _ in range(2))
            y, backprops = (device.empty(x.count, HALF.storage) for _ in range(2))
            assert_same_bits(device, functools.partial(op.forward, x, y), [y])
            launch = functools.partial(op.backward, gradients, y, backprops)
            assert_same_bits(device, launch, [backprops])


def _streams(device: Device) -> None:
    """All launches go to the stream they are given."""
    for dtype in FLOATING:
        with device.memory():
            op = _Sparsemax(device, dtype, 9, 40)
            x, y = (random_buffer(device, dtype, 9 * 40) for _ in range(2))
            launches = {
                "Sparsemax": functools.partial(op.forward, x, y),
                "SparsemaxGrad": functools.partial(op.backward, x, y, x),
            }
            assert_on_stream(device, launches)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for Sparsemax and its gradient."""
    yield "Sparsemax streams", _streams
    for dtype in FLOATING:
        for rows, size in ROW_SHAPES:
            check = functools.partial(_check, dtype=dtype, rows=rows, size=size)
            yield f"Sparsemax {dtype.name} {rows} x {size}", check
    yield "Sparsemax repeatable", _repeatable


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for matrices of more than `beyond` elements."""
    for size in (1024, 1031):  # in packs, and not
        check = functools.partial(_check_large, size=size, beyond=beyond)
        yield f"Sparsemax half, rows of {size}", check


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """Matrices of `size` bytes with short, usual and long rows."""
    for dtype in FLOATING:
        for columns in (64, 1024, 16384):
            rows = max(1, size // dtype.storage.itemsize // columns)
            with device.memory():
                op = _Sparsemax(device, dtype, rows, columns)
                x = random_buffer(device, dtype, rows * columns)
                y, backprops = (device.empty(x.count, dtype.storage) for _ in range(2))
                name = f"{dtype.name}, {columns} columns"
                forward = functools.partial(op.forward, x, y)
                yield Row("Sparsemax", name, 2 * x.size, forward)
                op.forward(x, y)
                backward = functools.partial(op.backward, x, y, backprops)
                yield Row("SparsemaxGrad", name, 3 * x.size, backward)
