# SPDX-License-Identifier: Apache-2.0
"""The kernels of row normalization against their reference."""

import functools
from collections.abc import Iterator

import normalization_kernels
import numpy as np
from checking import Check, assert_close, generator, random_values
from device import Buffer, Device
from normalization_kernels import Expected, RowNormalization
from numeric import FLOATING, HALF, NumericType
from rows import Row, random_buffer

# Rows around the pack, the warp, what a warp and a block hold in registers, and
# beyond; parts of the rows, whole and not.
_SHAPES = (
    (1, 1),
    (3, 2),
    (70, 7),
    (9, 8),
    (257, 32),
    (65, 33),
    (5, 128),
    (6, 136),
    (4, 255),
    (3, 256),
    (2, 257),
    (3, 512),
    (5, 1000),
    (2, 1024),
    (3, 1032),
    (2, 4096),
    (3, 8192),
    (2, 8200),
    (1, 30001),
    (16500, 4),
    (0, 8),
    (3, 0),
    (0, 0),
)
_EPSILON = 0.01
# Rounding errors of the compute type, beside the terms of a sum.
_ROUNDINGS = 32


def _expect(
    what: str, dtype: NumericType, stored: np.ndarray, expected: Expected
) -> None:
    slack = _ROUNDINGS * np.finfo(dtype.compute).eps * expected.terms
    slack = np.where(np.isfinite(slack), slack, 0)
    assert_close(what, dtype, stored, dtype.round(expected.value), 2, slack)


def _statistic(what: str, stored: np.ndarray, value: np.ndarray, unit: float) -> None:
    near = np.abs(stored - value) <= _ROUNDINGS * np.finfo(stored.dtype).eps * (
        np.abs(value) + unit
    )
    same = (stored == value) | (np.isnan(stored) & np.isnan(value))
    assert np.all(near | same), f"{what}: {stored}, expected {value}"


def _upload(
    device: Device, dtype: NumericType, values: np.ndarray | None, offset: int
) -> Buffer | None:
    return None if values is None else device.upload(dtype.encode(values), offset)


def _check_forward(
    device: Device, op: RowNormalization, offset: int, in_place: bool
) -> None:
    """The addresses are `offset` elements off their alignment."""
    dtype, shape = op.dtype, (op.rows, op.size)
    random = generator("normalization", op.name, dtype.name, shape, offset)
    x = dtype.decode(random_values(random, dtype, shape))
    if op.rows >= 3 and op.size >= 2:
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
        on_device = _upload(device, dtype, x, offset)
        assert on_device is not None
        output = on_device
        if not in_place:
            output = device.empty(shape, dtype.storage, offset)
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
        _expect("y", dtype, device.download(output), y)
        if op.centered:
            _statistic("mean", device.download(statistics[0]), mean, 10)
        _statistic("inverse", device.download(statistics[1]), inverse, 0)


def _check_backward(
    device: Device, op: RowNormalization, offset: int, in_place: bool
) -> None:
    dtype, shape = op.dtype, (op.rows, op.size)
    random = generator("gradient", op.name, dtype.name, shape, offset)
    x, gradients = (dtype.decode(random_values(random, dtype, shape)) for _ in "12")
    scale = dtype.round(random.standard_normal(op.size))
    statistics = random.standard_normal((3, op.rows)).astype(dtype.compute)
    dm, dr, mean = (row.astype(np.float64) for row in statistics)
    inverse = random.uniform(0.5, 2, op.rows).astype(dtype.compute).astype(np.float64)
    expected = normalization_kernels.differentiate(
        gradients,
        dm if op.centered else None,
        dr,
        x,
        scale,
        mean if op.centered else None,
        inverse,
    )

    def statistic(values: np.ndarray) -> Buffer:
        return device.upload(values.astype(dtype.compute), offset)

    with device.memory():
        on_device = _upload(device, dtype, gradients, offset)
        assert on_device is not None
        output = on_device
        if not in_place:
            output = device.empty(shape, dtype.storage, offset)
        sums = [device.empty(op.size, dtype.storage, offset) for _ in range(2)]
        op.backward(
            (
                on_device,
                statistic(dm) if op.centered else None,
                statistic(dr),
                _upload(device, dtype, x, offset),
                _upload(device, dtype, scale, offset),
                statistic(mean) if op.centered else None,
                statistic(inverse),
                output,
                sums[0],
                sums[1] if op.centered else None,
                op.scratch(),
            )
        )
        _expect("x_backprops", dtype, device.download(output), expected[0])
        _expect("scale_backprops", dtype, device.download(sums[0]), expected[1])
        if op.centered:
            _expect("offset_backprops", dtype, device.download(sums[1]), expected[2])


def _check(
    device: Device, dtype: NumericType, centered: bool, rows: int, size: int
) -> None:
    op = RowNormalization(device, dtype, centered, rows, size)
    for offset, in_place in ((0, False), (0, True), (1, False)):
        _check_forward(device, op, offset, in_place)
        _check_backward(device, op, offset, in_place)


def _buffers(op: RowNormalization) -> tuple[list[Buffer | None], list[Buffer | None]]:
    """Arguments of forward and of backward, on random matrices."""
    device, dtype = op.device, op.dtype
    x, gradients = (random_buffer(device, dtype, op.rows * op.size) for _ in "12")
    outputs = [device.empty(x.count, dtype.storage) for _ in "12"]
    scale, offset = (random_buffer(device, dtype, op.size) for _ in "12")
    sums = [device.empty(op.size, dtype.storage) for _ in "12"]
    dm, dr, mean, inverse = (
        device.upload(np.ones(op.rows, dtype.compute)) for _ in "1234"
    )
    if op.centered:
        return (
            [x, scale, offset, outputs[0], mean, inverse],
            [
                gradients,
                dm,
                dr,
                x,
                scale,
                mean,
                inverse,
                outputs[1],
                *sums,
                op.scratch(),
            ],
        )
    return (
        [x, scale, None, outputs[0], None, inverse],
        [
            gradients,
            None,
            dr,
            x,
            scale,
            None,
            inverse,
            outputs[1],
            sums[0],
            None,
            op.scratch(),
        ],
    )


def _repeatable(device: Device) -> None:
    """Gradients have the same bits ten times over."""
    for centered in (True, False):
        with device.memory():
            op = RowNormalization(device, HALF, centered, 5000, 200)
            _, backward = _buffers(op)
            results = set()
            for _ in range(10):
                op.backward(backward)
                outputs = [b for b in backward[7:10] if b is not None]
                results.add(b"".join(device.download(b).tobytes() for b in outputs))
        assert len(results) == 1, f"{op.name}: differs from one call to the next"


def _streams(device: Device) -> None:
    """All launches go to the stream they are given."""
    for dtype in FLOATING:
        for centered in (True, False):
            with device.memory():
                op = RowNormalization(device, dtype, centered, 9, 40)
                forward, backward = _buffers(op)
                for launch in (
                    functools.partial(op.forward, _EPSILON, forward),
                    functools.partial(op.backward, backward),
                ):
                    assert device.recorded(launch) >= 1, f"{op.name}: other stream"


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for LayerNorm, RmsNorm and their gradients."""
    yield "Normalization streams", _streams
    for dtype in FLOATING:
        for centered in (True, False):
            for rows, size in _SHAPES:
                norm = "LayerNorm" if centered else "RmsNorm"
                yield (
                    f"{norm} {dtype.name} {rows} x {size}",
                    functools.partial(
                        _check, dtype=dtype, centered=centered, rows=rows, size=size
                    ),
                )
    yield "Normalization repeatable", _repeatable


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
                        op.name,
                        name,
                        2 * x.size,
                        functools.partial(op.forward, _EPSILON, forward),
                    )
                    yield Row(
                        f"{op.name}Grad",
                        name,
                        3 * x.size,
                        functools.partial(op.backward, backward),
                    )
