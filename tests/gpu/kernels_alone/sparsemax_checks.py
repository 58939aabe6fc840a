"""Sparsemax's kernels against NumPy in float64."""

import functools
import struct
from collections.abc import Iterator

import numpy as np
from checking import Check, assert_last, assert_repeats, generator, random_values
from device import Device
from numeric import FLOATING, HALF, NumericType
from row_shapes import ROW_SHAPES, RowProblem, large_shapes, timed_shapes
from rows import Row, check_repeatable, random_buffer

# Rounding errors of the compute type, relative to the divisor of a sum.
_ROUNDINGS = 64


def _project(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """y, and the mean of its elements above 0 as a column.

    By sorting: A. F. T. Martins and R. F. Astudillo, "From Softmax to Sparsemax", arXiv:1602.02068,
    algorithm 1. Its sums cancel, so they are not in float64.
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
    slack = _ROUNDINGS * dtype.epsilon * size
    return np.broadcast_to(np.nan_to_num(slack), like.shape)


def _logits(random: np.random.Generator, dtype: NumericType, shape: tuple[int, int]) -> np.ndarray:
    """Rows with many, some and few elements above the threshold; special rows."""
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


def _check_forward(op: RowProblem) -> None:
    device, dtype, shape = op.device, op.dtype, op.shape
    x = _logits(generator("sparsemax", dtype.name, shape, op.offset), dtype, shape)
    y, unit = _project(x)
    with device.memory():
        logits = device.repeat(dtype.encode(x), op.copies, op.offset)
        output = op.output(logits)
        device.launch("Sparsemax", dtype, op.dims, logits, output)
        slack = _slack(dtype, unit, y)
        assert_repeats("y", device, dtype, output, dtype.round(y), 2, slack)


def _check_backward(op: RowProblem) -> None:
    """Only the last copy has nonzero gradients."""
    device, dtype, shape = op.device, op.dtype, op.shape
    random = generator("gradient", dtype.name, shape, op.offset)
    gradients = random_values(random, dtype, shape)
    y = dtype.round(np.maximum(random.standard_normal(shape), 0))
    if op.copies == 1 and len(y) >= 3 and op.size:
        y[0] = 0  # no element in the support
        y[1, -1] = np.nan
    expected, terms = _differentiate(dtype.decode(gradients), y)
    with device.memory():
        upstream = device.last_of(gradients, op.copies, op.offset)
        output = op.output(upstream)
        y_device = device.repeat(dtype.encode(y), op.copies, op.offset)
        device.launch("SparsemaxGrad", dtype, op.dims, upstream, y_device, output)
        slack = _slack(dtype, terms, expected)
        assert_last("backprops", device, dtype, output, dtype.round(expected), 2, slack)


def _check(device: Device, dtype: NumericType, rows: int, size: int, copies: int = 1) -> None:
    for op in RowProblem(device, dtype, rows, size, copies).variants():
        _check_forward(op)
        _check_backward(op)


SMALL = [(9, 40)]
timed = timed_shapes


def rows(device: Device, dtype: NumericType, count: int, size: int) -> Iterator[Row]:
    x, gradients = (random_buffer(device, dtype, (count, size)) for _ in range(2))
    y, backprops = (device.empty(x.count, dtype.storage) for _ in range(2))
    dims, label = struct.pack("2q", count, size), f"{dtype.name}, {size} columns"
    forward = functools.partial(device.launch, "Sparsemax", dtype, dims, x, y)
    yield Row("Sparsemax", label, 2 * x.size, forward, [y])
    forward()
    work = functools.partial(device.launch, "SparsemaxGrad", dtype, dims, gradients, y, backprops)
    yield Row("SparsemaxGrad", label, 3 * x.size, work, [backprops])


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for Sparsemax and its gradient."""
    partial = functools.partial
    for dtype in FLOATING:
        for count, size in ROW_SHAPES:
            check = partial(_check, dtype=dtype, rows=count, size=size)
            yield f"Sparsemax {dtype.name} {count} x {size}", check
    for size in (200, 3000, 20_000):
        launches = partial(rows, dtype=HALF, count=20, size=size)
        yield f"Sparsemax repeatable, rows of {size}", partial(check_repeatable, rows=launches)


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for matrices of more than `beyond` elements."""
    for count, size, copies in large_shapes(beyond):
        check = functools.partial(_check, dtype=HALF, rows=count, size=size, copies=copies)
        yield f"Sparsemax half, rows of {size}", check
