"""The kernels of LayerNorm and RmsNorm against NumPy in float64.

LayerNorm is centered. RmsNorm has no mean and no offset; both are None.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np
from checking import Check, assert_last, assert_repeats, generator, random_values
from device import Buffer, Device
from numeric import DOUBLE, FLOAT, FLOATING, HALF, NumericType
from row_shapes import ROW_SHAPES, RowProblem, large_shapes, timed_shapes
from rows import Row, check_repeatable, random_buffer

_EPSILON = 0.01
# Rounding errors of the compute type, relative to the terms of a sum.
_ROUNDINGS = 32


@dataclasses.dataclass(frozen=True)
class _Expected:
    """A value, and the size of the terms of its sum: the kernels' error must be small
    relative to these."""

    value: np.ndarray
    terms: np.ndarray


def _mean(x: np.ndarray) -> np.ndarray:
    """The mean of each row as a column; 0 for an empty row."""
    return np.sum(x, axis=1, keepdims=True) / max(x.shape[1], 1)


def _normalize(
    x: np.ndarray, scale: np.ndarray, offset: np.ndarray | None, epsilon: float
) -> tuple[_Expected, np.ndarray, np.ndarray]:
    """y, mean and inverse in float64; not centered if there is no offset.

    J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer Normalization",
    arXiv:1607.06450; B. Zhang and R. Sennrich, "Root Mean Square Layer
    Normalization", NeurIPS 2019.
    """
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        mean = np.zeros((len(x), 1)) if offset is None else _mean(x)
        centered = x - mean
        inverse = 1 / np.sqrt(_mean(centered**2) + np.float64(np.float32(epsilon)))
        y = centered * inverse * scale
        terms = (np.abs(x) + _mean(np.abs(x))) * inverse * np.abs(scale)
        if offset is not None:
            y, terms = y + offset, terms + np.abs(offset)
    return _Expected(y, terms), mean[:, 0], inverse[:, 0]


def _differentiate(
    gradients: np.ndarray,
    mean_gradients: np.ndarray | None,
    inverse_gradients: np.ndarray,
    x: np.ndarray,
    scale: np.ndarray,
    mean: np.ndarray | None,
    inverse: np.ndarray,
) -> tuple[_Expected, _Expected, _Expected]:
    """The gradients of x, scale and offset, in float64."""
    size = max(x.shape[1], 1)
    r, dr = inverse[:, np.newaxis], inverse_gradients[:, np.newaxis]
    normal = (x if mean is None else x - mean[:, np.newaxis]) * r
    g = gradients * scale
    dx = r * (g - normal * _mean(g * normal)) - dr * r**2 * normal / size
    terms = np.abs(r) * (np.abs(g) + np.abs(normal) * _mean(np.abs(g * normal))) + np.abs(
        dr * r**2 * normal / size
    )
    if mean_gradients is not None:
        dx += mean_gradients[:, np.newaxis] / size - r * _mean(g)
        terms += np.abs(mean_gradients[:, np.newaxis]) / size + r * _mean(np.abs(g))
    return (
        _Expected(dx, terms),
        _Expected(np.sum(gradients * normal, axis=0), np.sum(np.abs(gradients * normal), 0)),
        _Expected(np.sum(gradients, axis=0), np.sum(np.abs(gradients), axis=0)),
    )


@dataclasses.dataclass(frozen=True)
class _Problem(RowProblem):
    """A matrix for one of _NAMES."""

    name: str = "LayerNorm"

    @property
    def centered(self) -> bool:
        return self.name == "LayerNorm"

    def upload(self, values: np.ndarray) -> Buffer:
        """One copy of a row."""
        return self.device.upload(self.dtype.encode(values), self.offset)

    def repeat(self, values: np.ndarray) -> Buffer:
        """Copies of a statistic."""
        return self.device.repeat(values.astype(self.dtype.compute), self.copies, self.offset)

    def last_of(self, values: np.ndarray) -> Buffer:
        """A statistic's gradient."""
        return self.device.last_of(values.astype(self.dtype.compute), self.copies, self.offset)

    def scratch(self) -> Buffer:
        """The buffer partial_sums."""
        return self.device.scratch(f"{self.name}Scratch", self.dtype, self.dims)

    def expect(
        self, what: str, buffer: Buffer, expected: _Expected, check: Callable = assert_repeats
    ) -> None:
        """Checks tensors of the type itself."""
        slack = _ROUNDINGS * self.dtype.epsilon * expected.terms
        slack = np.where(np.isfinite(slack), slack, 0)
        value = self.dtype.round(expected.value)
        check(what, self.device, self.dtype, buffer, value, 2, slack)

    def expect_statistic(self, what: str, buffer: Buffer, value: np.ndarray, unit: float) -> None:
        """Checks tensors of the compute type."""
        dtype = DOUBLE if self.dtype == DOUBLE else FLOAT
        slack = np.nan_to_num(_ROUNDINGS * dtype.epsilon * (np.abs(value) + unit))
        assert_repeats(what, self.device, dtype, buffer, value, 0, slack)


def _check_forward(op: _Problem) -> None:
    device, dtype, shape = op.device, op.dtype, op.shape
    random = generator("normalization", op.name, dtype.name, shape, op.offset)
    x = dtype.decode(random_values(random, dtype, shape))
    if len(x) >= 3 and op.size >= 2:
        x[0] = 1000  # a mean that is large relative to the variance
        x[0, 0] = 1001
        x[1, -1] = np.nan
        x[2, 0] = np.inf
    x = dtype.round(x)
    scale, shift = dtype.round(random.standard_normal((2, op.size)))
    with device.memory(), np.errstate(invalid="ignore"):
        expected = _normalize(x, scale, shift if op.centered else None, _EPSILON)
        on_device = device.repeat(dtype.encode(x), op.copies, op.offset)
        output = op.output(on_device)
        offset = op.upload(shift) if op.centered else None
        mean, inverse = (device.empty(op.rows, dtype.compute, op.offset) for _ in range(2))
        tensors = [on_device, op.upload(scale), offset, output, mean if op.centered else None]
        device.launch(op.name, dtype, op.dims, _EPSILON, [*tensors, inverse])
        op.expect("y", output, expected[0])
        if op.centered:
            op.expect_statistic("mean", mean, expected[1], 10)
        op.expect_statistic("inverse", inverse, expected[2], 0)


def _check_backward(op: _Problem) -> None:
    """Only the last copy has nonzero gradients."""
    device, dtype, shape = op.device, op.dtype, op.shape
    random = generator("gradient", op.name, dtype.name, shape, op.offset)
    x, gradients = (dtype.decode(random_values(random, dtype, shape)) for _ in "12")
    scale = dtype.round(random.standard_normal(op.size))
    statistics = random.standard_normal((3, len(x))).astype(dtype.compute)
    dm, dr, mean = (row.astype(np.float64) for row in statistics)
    inverse = random.uniform(0.5, 2, len(x)).astype(dtype.compute).astype(np.float64)
    expected = _differentiate(
        gradients, dm if op.centered else None, dr, x, scale, mean if op.centered else None, inverse
    )
    with device.memory():
        upstream = device.last_of(dtype.encode(gradients), op.copies, op.offset)
        output = op.output(upstream)
        by_scale, by_offset = (device.empty(op.size, dtype.storage, op.offset) for _ in range(2))
        tensors = [
            upstream,
            op.last_of(dm) if op.centered else None,
            op.last_of(dr),
            device.repeat(dtype.encode(x), op.copies, op.offset),
            op.upload(scale),
            op.repeat(mean) if op.centered else None,
            op.repeat(inverse),
            output,
            by_scale,
            by_offset if op.centered else None,
            op.scratch(),
        ]
        device.launch(f"{op.name}Grad", dtype, op.dims, tensors)
        op.expect("x_backprops", output, expected[0], assert_last)
        op.expect("scale_backprops", by_scale, expected[1])
        if op.centered:
            op.expect("offset_backprops", by_offset, expected[2])


def _check(
    device: Device, dtype: NumericType, name: str, rows: int, size: int, copies: int = 1
) -> None:
    for op in _Problem(device, dtype, rows, size, copies, name=name).variants():
        _check_forward(op)
        _check_backward(op)


_NAMES = ("LayerNorm", "RmsNorm")
SMALL = [(name, 9, 40) for name in _NAMES]


def rows(device: Device, dtype: NumericType, name: str, count: int, size: int) -> Iterator[Row]:
    op = _Problem(device, dtype, count, size, name=name)
    x, gradients, y, dx = (random_buffer(device, dtype, (count, size)) for _ in range(4))
    scale, by_scale = (random_buffer(device, dtype, size) for _ in range(2))
    dr, inverse = (device.upload(np.ones(count, dtype.compute)) for _ in range(2))
    dm = mean = offset = by_offset = None
    if op.centered:
        dm, mean = (device.upload(np.ones(count, dtype.compute)) for _ in range(2))
        offset, by_offset = (random_buffer(device, dtype, size) for _ in range(2))
    tensors = [x, scale, offset, y, mean, inverse]
    work = functools.partial(device.launch, name, dtype, op.dims, _EPSILON, tensors)
    label = f"{dtype.name}, {size} columns"
    yield Row(name, label, 2 * x.size, work)
    outputs = [dx, by_scale, by_offset]
    tensors = [gradients, dm, dr, x, scale, mean, inverse, *outputs, op.scratch()]
    work = functools.partial(device.launch, f"{name}Grad", dtype, op.dims, tensors)
    yield Row(f"{name}Grad", label, 3 * x.size, work, [b for b in outputs if b is not None])


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for LayerNorm, RmsNorm and their gradients."""
    partial = functools.partial
    for name in _NAMES:
        for dtype in FLOATING:
            for count, size in ROW_SHAPES:
                check = partial(_check, dtype=dtype, name=name, rows=count, size=size)
                yield f"{name} {dtype.name} {count} x {size}", check
        launches = partial(rows, dtype=HALF, name=name, count=5000, size=200)
        yield f"{name} repeatable", partial(check_repeatable, rows=launches)


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for matrices of more than `beyond` elements."""
    for name in _NAMES:
        for count, size, copies in large_shapes(beyond):
            problem = {"name": name, "rows": count, "size": size, "copies": copies}
            check = functools.partial(_check, dtype=HALF, **problem)
            yield f"{name} half, rows of {size}", check


def timed(size: int) -> Iterator[tuple]:
    """Matrices of `size` bytes."""
    for name in _NAMES:
        yield from ((dtype, name, *shape) for dtype, *shape in timed_shapes(size))
