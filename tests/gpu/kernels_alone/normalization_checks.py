# SPDX-License-Identifier: Apache-2.0
"""The kernels of row normalization against their reference."""

import functools
from collections.abc import Callable, Iterator

import normalization_kernels
import numpy as np
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
from normalization_kernels import Expected, RowNormalization
from numeric import DOUBLE, FLOAT, FLOATING, HALF, NumericType
from row_shapes import ROW_SHAPES
from rows import Row, random_buffer

_EPSILON = 0.01
# Rounding errors of the compute type, beside the terms of a sum.
_ROUNDINGS = 32


Assert = Callable[..., None]


def _expect(
    what: str,
    op: RowNormalization,
    buffer: Buffer,
    expected: Expected,
    check: Assert = assert_repeats,
) -> None:
    dtype = op.dtype
    slack = _ROUNDINGS * np.finfo(dtype.compute).eps * expected.terms
    slack = np.where(np.isfinite(slack), slack, 0)
    value = dtype.round(expected.value)
    check(what, op.device, dtype, buffer, value, 2, slack)


def _statistic(
    what: str, op: RowNormalization, buffer: Buffer, value: np.ndarray, unit: float
) -> None:
    dtype = DOUBLE if op.dtype == DOUBLE else FLOAT
    slack = _ROUNDINGS * np.finfo(dtype.storage).eps * (np.abs(value) + unit)
    assert_repeats(what, op.device, dtype, buffer, value, 0, np.nan_to_num(slack))


def _upload(
    device: Device, dtype: NumericType, values: np.ndarray | None, offset: int
) -> Buffer | None:
    return None if values is None else device.upload(dtype.encode(values), offset)


def _check_forward(op: RowNormalization, offset: int, in_place: bool, copies: int = 1) -> None:
    """The addresses are `offset` elements off their alignment; the rows are
    `copies` times the same."""
    device, dtype, shape = op.device, op.dtype, (op.rows // copies, op.size)
    random = generator("normalization", op.name, dtype.name, shape, offset)
    x = dtype.decode(random_values(random, dtype, shape))
    if len(x) >= 3 and op.size >= 2:
        x[0] = 1000  # a mean that is large beside the variance
        x[0, 0] = 1001
        x[1, -1] = np.nan
        x[2, 0] = np.inf
    x = dtype.round(x)
    scale, shift = dtype.round(random.standard_normal((2, op.size)))
    with device.memory(), np.errstate(invalid="ignore"):
        y, mean, inverse = normalization_kernels.normalize(
            x, scale, shift if op.centered else None, _EPSILON
        )
        on_device = device.repeat(dtype.encode(x), copies, offset)
        output = on_device
        if not in_place:
            output = device.empty((op.rows, op.size), dtype.storage, offset)
        statistics = [device.empty(op.rows, dtype.compute, offset) for _ in range(2)]
        op.forward(
            _EPSILON,
            (
                on_device,
                _upload(device, dtype, scale, offset),
                _upload(device, dtype, shift if op.centered else None, offset),
                output,
                statistics[0] if op.centered else None,
                statistics[1],
            ),
        )
        _expect("y", op, output, y)
        if op.centered:
            _statistic("mean", op, statistics[0], mean, 10)
        _statistic("inverse", op, statistics[1], inverse, 0)


def _check_backward(op: RowNormalization, offset: int, in_place: bool, copies: int = 1) -> None:
    """See _check_forward; only the last copy has gradients that are not 0."""
    device, dtype, shape = op.device, op.dtype, (op.rows // copies, op.size)
    random = generator("gradient", op.name, dtype.name, shape, offset)
    x, gradients = (dtype.decode(random_values(random, dtype, shape)) for _ in "12")
    scale = dtype.round(random.standard_normal(op.size))
    statistics = random.standard_normal((3, len(x))).astype(dtype.compute)
    dm, dr, mean = (row.astype(np.float64) for row in statistics)
    inverse = random.uniform(0.5, 2, len(x)).astype(dtype.compute).astype(np.float64)
    expected = normalization_kernels.differentiate(
        gradients, dm if op.centered else None, dr, x, scale, mean if op.centered else None, inverse
    )

    def repeat(values: np.ndarray) -> Buffer:
        return device.repeat(values.astype(dtype.compute), copies, offset)

    def last_of(values: np.ndarray) -> Buffer:
        return device.last_of(values.astype(dtype.compute), copies, offset)

    with device.memory():
        on_device = device.last_of(dtype.encode(gradients), copies, offset)
        output = on_device
        if not in_place:
            output = device.empty((op.rows, op.size), dtype.storage, offset)
        sums = [device.empty(op.size, dtype.storage, offset) for _ in range(2)]
        op.backward(
            (
                on_device,
                last_of(dm) if op.centered else None,
                last_of(dr),
                device.repeat(dtype.encode(x), copies, offset),
                _upload(device, dtype, scale, offset),
                repeat(mean) if op.centered else None,
                repeat(inverse),
                output,
                sums[0],
                sums[1] if op.centered else None,
                op.scratch(),
            )
        )
        _expect("x_backprops", op, output, expected[0], assert_last)
        _expect("scale_backprops", op, sums[0], expected[1])
        if op.centered:
            _expect("offset_backprops", op, sums[1], expected[2])


def _check(device: Device, dtype: NumericType, centered: bool, rows: int, size: int) -> None:
    op = RowNormalization(device, dtype, centered, rows, size)
    for offset, in_place in ((0, False), (0, True), (1, False)):
        _check_forward(op, offset, in_place)
        _check_backward(op, offset, in_place)


def _check_large(device: Device, centered: bool, size: int, beyond: int) -> None:
    rows = 31
    copies = copies_beyond(beyond, rows * size)
    op = RowNormalization(device, HALF, centered, copies * rows, size)
    _check_forward(op, 0, False, copies)
    _check_backward(op, 0, False, copies)


def _buffers(op: RowNormalization) -> tuple[list[Buffer | None], list[Buffer | None]]:
    """Arguments of forward and of backward, on random matrices."""
    device, dtype = op.device, op.dtype
    x, gradients = (random_buffer(device, dtype, op.rows * op.size) for _ in "12")
    outputs = [device.empty(x.count, dtype.storage) for _ in "12"]
    scale, offset = (random_buffer(device, dtype, op.size) for _ in "12")
    sums = [device.empty(op.size, dtype.storage) for _ in "12"]
    dm, dr, mean, inverse = (device.upload(np.ones(op.rows, dtype.compute)) for _ in "1234")
    if op.centered:
        return (
            [x, scale, offset, outputs[0], mean, inverse],
            [gradients, dm, dr, x, scale, mean, inverse, outputs[1], *sums, op.scratch()],
        )
    return (
        [x, scale, None, outputs[0], None, inverse],
        [gradients, None, dr, x, scale, None, inverse, outputs[1], sums[0], None, op.scratch()],
    )


def _repeatable(device: Device) -> None:
    """Gradients have the same bits each time."""
    for centered in (True, False):
        with device.memory():
            op = RowNormalization(device, HALF, centered, 5000, 200)
            _, backward = _buffers(op)
            outputs = [b for b in backward[7:10] if b is not None]
            assert_same_bits(device, functools.partial(op.backward, backward), outputs)


def _streams(device: Device) -> None:
    """All launches go to the stream they are given."""
    for dtype in FLOATING:
        for centered in (True, False):
            with device.memory():
                op = RowNormalization(device, dtype, centered, 9, 40)
                forward, backward = _buffers(op)
                launches = {
                    op.name: functools.partial(op.forward, _EPSILON, forward),
                    f"{op.name}Grad": functools.partial(op.backward, backward),
                }
                assert_on_stream(device, launches)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for LayerNorm, RmsNorm and their gradients."""
    yield "Normalization streams", _streams
    for dtype in FLOATING:
        for centered in (True, False):
            for rows, size in ROW_SHAPES:
                norm = "LayerNorm" if centered else "RmsNorm"
                yield (
                    f"{norm} {dtype.name} {rows} x {size}",
                    functools.partial(_check, dtype=dtype, centered=centered, rows=rows, size=size),
                )
    yield "Normalization repeatable", _repeatable


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for matrices of more than `beyond` elements."""
    for centered in (True, False):
        for size in (1024, 1031):  # in packs, and not
            check = functools.partial(_check_large, centered=centered, size=size, beyond=beyond)
            yield (f"{'LayerNorm' if centered else 'RmsNorm'} half, rows of {size}", check)


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """Matrices of `size` bytes with short, usual and long rows."""
    for centered in (True, False):
        for dtype in FLOATING:
            for columns in (64, 1024, 16384):
                rows = max(1, size // dtype.storage.itemsize // columns)
                with device.memory():
                    op = RowNormalization(device, dtype, centered, rows, columns)
                    forward, backward = _buffers(op)
                    x = forward[0]
                    assert x is not None
                    name = f"{dtype.name}, {columns} columns"
                    yield Row(
                        op.name, name, 2 * x.size, functools.partial(op.forward, _EPSILON, forward)
                    )
                    yield Row(
                        f"{op.name}Grad", name, 3 * x.size, functools.partial(op.backward, backward)
                    )
