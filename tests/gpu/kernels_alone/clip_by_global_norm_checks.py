"""ClipByGlobalNorm's kernels against NumPy in float64 (and beyond its range)."""

import ctypes
import functools
import itertools
import struct
from collections.abc import Iterator, Sequence

import numpy as np
from checking import Check, assert_close, assert_last, copies_beyond, generator, random_values
from device import Buffer, Device
from numeric import DOUBLE, FLOAT, FLOATING, HALF, NumericType
from rows import Row, check_repeatable, random_buffer

# Sizes of the tensors of one call: around the pack, the block and the unit of work, no tensors, and
# more tensors than one launch takes, with full units on both sides of that border.
_LISTS: tuple[tuple[int, ...], ...] = (
    (1,),
    (0,),
    (0, 0, 3),
    (7, 33, 257, 0, 1),
    (16384, 16385, 16383, 5),
    (100_003, 1, 40_000),
    tuple(range(90)),
    (16384, *(1,) * 78, 16384, 16384),
)


class _Clip:
    """Both launchers for one list of tensors; outputs may be inputs."""

    def __init__(self, device: Device, dtype: NumericType, values: list[Buffer]) -> None:
        self._device = device
        self._values = values
        counts = [value.count for value in values]
        sizes = len(values), struct.pack(f"{len(values)}q", *counts)
        self._first = dtype, *sizes
        self._scratch = device.scratch("ClipByGlobalNormScratch", *sizes)
        self.scalar = device.empty(1, dtype.storage)  # norm, or clip_norm's gradient

    def forward(self, clip_norm: float, outputs: list[Buffer]) -> None:
        """Launches LaunchClipByGlobalNorm."""
        self._launch("ClipByGlobalNorm", [], clip_norm, outputs)

    def grad(
        self,
        gradients: list[Buffer],
        norm_gradient: Buffer,
        clip_norm: float,
        outputs: list[Buffer],
    ) -> None:
        """Launches LaunchClipByGlobalNormGrad."""
        self._launch("ClipByGlobalNormGrad", [gradients, norm_gradient], clip_norm, outputs)

    def _launch(self, name: str, upstream: list, clip_norm: float, outputs: list[Buffer]) -> None:
        last = ctypes.c_double(clip_norm), self._scratch, self.scalar
        self._device.launch(name, *self._first, *upstream, self._values, outputs, *last)


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
    """Both ops; `copies` - 1 times as many zeros precede the arrays."""
    exact = [dtype.decode(value) for value in values]
    upstream = [dtype.decode(gradient) for gradient in gradients]
    clipped, norm = _forward(exact, clip_norm)
    backprops, of_clip_norm = _backward(upstream, 1.5, exact, clip_norm)
    # Sums in float64 have another order, which costs a few roundoffs.
    limits = 2, 1e-11

    def check(
        what: str, buffers: list[Buffer], expected: Sequence[np.ndarray], scalar: float
    ) -> None:
        for index, (buffer, wanted) in enumerate(zip(buffers, expected, strict=True)):
            assert_last(f"{what} {index}", device, dtype, buffer, wanted, *limits)
        rounded = dtype.round(np.array([scalar]))
        assert_close(f"{what}, scalar", dtype, device.download(op.scalar), rounded, *limits)

    with device.memory():
        inputs, given = (
            [device.last_of(array, copies, offset) for array in arrays]
            for arrays in (values, gradients)
        )
        outputs = [device.empty(x.shape, dtype.storage, offset) for x in inputs]
        norm_gradient = device.upload(dtype.encode(np.array([1.5])))
        op = _Clip(device, dtype, inputs)
        results = given if in_place else outputs
        op.grad(given, norm_gradient, clip_norm, results)
        check("gradient", results, backprops, of_clip_norm)
        results = inputs if in_place else outputs
        op.forward(clip_norm, results)
        check("clipped", results, clipped, norm)


def _large(device: Device, beyond: int) -> None:
    sizes = 65_521, 5, 1000  # the first is a prime
    values, gradients = _random_lists(HALF, sizes)
    copies = copies_beyond(beyond, sizes[0])
    _check_one(device, HALF, values, gradients, 10.0, False, copies=copies)


def _extremes(device: Device) -> None:
    """Squares outside the range of the type, and norms that are not finite."""
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


SMALL = [(3, 9)]


def rows(device: Device, dtype: NumericType, tensors: int, count: int) -> Iterator[Row]:
    """Values are read twice and written once."""
    values, gradients, outputs = (
        [random_buffer(device, dtype, count) for _ in range(tensors)] for _ in range(3)
    )
    op = _Clip(device, dtype, values)
    norm_gradient = random_buffer(device, dtype, 1)
    total = tensors * outputs[0].size
    work = functools.partial(op.forward, 1.0, outputs)
    yield Row(f"ClipByGlobalNorm, {tensors}", dtype.name, 3 * total, work)
    work = functools.partial(op.grad, gradients, norm_gradient, 1.0, outputs)
    name = f"ClipByGlobalNormGrad, {tensors}"
    yield Row(name, dtype.name, 5 * total, work, [*outputs, op.scalar])


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for ClipByGlobalNorm and its gradient."""
    partial = functools.partial
    for dtype, sizes, offset in itertools.product(FLOATING, _LISTS, (0, 1)):
        name = f"ClipByGlobalNorm {dtype.name} {len(sizes)} x {max(sizes)}, offset {offset}"
        yield name, partial(_check, dtype=dtype, sizes=sizes, offset=offset)
    yield "ClipByGlobalNorm extremes", _extremes
    launches = partial(rows, dtype=FLOAT, tensors=9, count=30_001)
    yield "ClipByGlobalNorm repeatable", partial(check_repeatable, rows=launches)


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for a list with a tensor of more than `beyond` elements."""
    yield "ClipByGlobalNorm half", functools.partial(_large, beyond=beyond)


def timed(size: int) -> Iterator[tuple]:
    """200 tensors of `size` bytes in total."""
    for dtype in FLOATING:
        yield dtype, 200, max(1, size // 200 // dtype.storage.itemsize)
