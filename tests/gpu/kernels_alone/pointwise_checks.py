"""Elementwise and broadcasting kernels and ZeroOut against their references: shapes,
alignments, types, special values."""

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from checking import (
    Check,
    assert_close,
    assert_last,
    assert_repeats,
    copies_beyond,
    generator,
    random_values,
)
from device import Buffer, Device
from numeric import HALF, NumericType
from pointwise_kernels import BROADCAST, ELEMENTWISE, ZERO_OUT, PointwiseKernel
from rows import Row, random_buffer

# Sizes around the pack of 16 bytes, the warp, the block, and more than some blocks.
_SIZES = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 255, 256, 257, 2049, 65551)
# Elements by which inputs and output are off the alignment; the last is the output's.
_OFFSETS = ((0, 0, 0), (1, 1, 1), (7, 7, 7), (0, 1, 2), (3, 3, 0))
_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)


def _special(kernel: PointwiseKernel, dtype: NumericType) -> tuple[float, ...]:
    if not kernel.extremes:
        return _SPECIAL
    largest = {"half": 65504.0, "bfloat16": 3.3895313892515355e38}.get(dtype.name)
    if largest is None and dtype.is_floating:
        largest = float(np.finfo(dtype.storage).max)
    return (*_SPECIAL, largest or 0.0, dtype.tiniest, -dtype.tiniest)


def _outputs(
    device: Device, kernel: PointwiseKernel, dtype: NumericType, shape: object, offset: int = 0
) -> list[Buffer]:
    return [device.empty(shape, dtype.storage, offset) for _ in range(kernel.outputs)]


def _results(device: Device, outputs: Sequence[Buffer]) -> np.ndarray:
    """One output, or several stacked as in `PointwiseKernel.function`."""
    results = [device.download(output) for output in outputs]
    return results[0] if len(results) == 1 else np.stack(results)


def check_elementwise(device: Device, kernel: PointwiseKernel, dtype: NumericType) -> None:
    """All sizes and alignments, with separate outputs and in place."""
    random = generator(kernel.name, dtype.name)
    special = _special(kernel, dtype)
    sizes = (*_SIZES, *random.integers(1, 20_000, 4).tolist())
    for size, offsets in itertools.product(sizes, _OFFSETS):
        stored = [random_values(random, dtype, (size,), special) for _ in range(kernel.arity)]
        limits = kernel.limits(dtype, [dtype.decode(x) for x in stored])
        what = f"size {size}, offsets {offsets[: kernel.arity]}, {offsets[-1]}"
        with device.memory():
            inputs = [device.upload(x, offset) for x, offset in zip(stored, offsets, strict=False)]
            outputs = _outputs(device, kernel, dtype, size, offsets[-1])
            kernel.launch(device, dtype, inputs, outputs)
            assert_close(what, dtype, _results(device, outputs), *limits)
            # Outputs may be any of the inputs.
            for targets in itertools.permutations(inputs, kernel.outputs):
                before = [device.download(target) for target in targets]
                kernel.launch(device, dtype, inputs, list(targets))
                assert_close(f"{what}, in place", dtype, _results(device, targets), *limits)
                for target, restored in zip(targets, before, strict=True):
                    device.restore(target, restored)


# Shapes of the operands; the output has their broadcast shape.
_SHAPES: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((), ()),
    ((1,), (1,)),
    ((0,), (1,)),
    ((3, 0), (3, 1)),
    ((17,), (17,)),
    ((257,), ()),
    ((), (1031,)),
    ((5, 7), (7,)),
    ((5, 1), (1, 7)),
    ((2, 3, 4), (3, 1)),
    ((3, 1, 5, 1), (4, 1, 6)),
    ((2, 1, 3, 1, 2, 1, 3, 1), (1, 3, 1, 2, 1, 2, 1, 3)),
    ((300, 1), (300, 301)),
    ((7, 24), (24,)),  # in packs of every type
    ((6, 1), (5, 1, 16)),
    ((5, 1), (616,)),  # rows of several parts, in packs of every type
    ((4, 1, 617), (3, 1)),
    ((1, 513, 1), (64, 1, 3)),
)


def _random_shapes(random: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    output = random.integers(1, 9, random.integers(1, 6))
    shapes = []
    for _ in range(2):
        shape = np.where(random.random(output.size) < 0.4, 1, output)
        shapes.append(tuple(shape[random.integers(0, output.size) :].tolist()))
    return tuple(shapes)


def check_broadcast(device: Device, kernel: PointwiseKernel, dtype: NumericType) -> None:
    """All shapes, with packs and without."""
    random = generator(kernel.name, dtype.name)
    special = _special(kernel, dtype)
    for shapes in (*_SHAPES, *(_random_shapes(random) for _ in range(12))):
        output_shape = np.broadcast_shapes(*shapes)
        if kernel.arity == 3:  # the first operand is a gradient of the output
            shapes = (output_shape, *shapes)
        for offset in (0, 1):
            stored = [random_values(random, dtype, s, special) for s in shapes]
            limits = kernel.limits(dtype, [dtype.decode(x) for x in stored])
            with device.memory():
                inputs = [device.upload(x, offset) for x in stored]
                outputs = _outputs(device, kernel, dtype, output_shape, offset)
                kernel.launch(device, dtype, inputs, outputs)
                what = f"shapes {shapes}, offset {offset}"
                assert_close(what, dtype, _results(device, outputs), *limits)


def _in_place_broadcast(device: Device, kernel: PointwiseKernel, dtype: NumericType) -> None:
    random = generator(kernel.name, dtype.name, "in place")
    for columns in (129, 616):  # no packs; packs of every type
        shapes = ((7, columns), (7, columns), (columns,))[-kernel.arity :]
        stored = [random_values(random, dtype, shape) for shape in shapes]
        limits = kernel.limits(dtype, [dtype.decode(x) for x in stored])
        with device.memory():
            inputs = [device.upload(x) for x in stored]
            outputs = inputs[: kernel.outputs]
            kernel.launch(device, dtype, inputs, outputs)
            assert_close("in place", dtype, _results(device, outputs), *limits)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for elementwise and broadcasting kernels and ZeroOut."""
    for kernels, check, suffix in (
        ((*ELEMENTWISE, *ZERO_OUT), check_elementwise, ""),
        (BROADCAST, check_broadcast, ""),
        (BROADCAST, _in_place_broadcast, " in place"),
    ):
        for kernel in kernels:
            for dtype in kernel.types:
                name = f"{kernel.title} {dtype.name}{suffix}"
                yield name, functools.partial(check, kernel=kernel, dtype=dtype)


_PERIOD = 65_521  # prime: an index that lost its upper bits finds another value
_LARGE = ("Relu", "ReluGrad", "SwiGluGrad", "Clear")  # by arity; the others share their loops
_LARGE_BROADCAST = ("MultiplyLeft", "SnakeGrad")


def _check_large(
    device: Device,
    kernel: PointwiseKernel,
    shapes: Sequence[tuple[int, ...]],
    large: Sequence[tuple[int, ...]],
) -> None:
    """Inputs of these shapes repeat until they have the large ones; the last shapes
    are the outputs'."""
    random = generator("large", kernel.name)
    stored = [random_values(random, HALF, shape) for shape in shapes]
    expected, roundoffs, slack = kernel.limits(HALF, [HALF.decode(x) for x in stored])
    shape = kernel.outputs, *np.broadcast_shapes(*shapes)
    with device.memory():
        inputs = [device.tile(x, to) for x, to in zip(stored, large, strict=False)]
        outputs = _outputs(device, kernel, HALF, large[-1])
        kernel.launch(device, HALF, inputs, outputs)
        for k, output in enumerate(outputs):
            limits = expected.reshape(shape)[k], roundoffs, slack.reshape(shape)[k]
            assert_repeats(f"output {k}", device, HALF, output, *limits)


def _large_zero_out(device: Device, beyond: int) -> None:
    pattern = np.arange(1, 2049, dtype=np.float16)
    with device.memory():
        values = device.tile(pattern, beyond + 12_345)
        output = device.empty(values.count, np.float16)
        ZERO_OUT[0].launch(device, HALF, [values], [output])
        first = device.part(output, 0, 1)
        assert device.download(first) == pattern[0], "the element that is kept"
        device.restore(first, np.zeros(1))
        assert_last("the rest", device, HALF, output, np.zeros(1))


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for tensors of more than `beyond` elements."""
    for kernel in (*ELEMENTWISE, *ZERO_OUT):
        if kernel.name in _LARGE:
            shapes, large = [(_PERIOD,)] * kernel.arity, [(beyond + 12_345,)] * (kernel.arity + 1)
            check = functools.partial(_check_large, kernel=kernel, shapes=shapes, large=large)
            yield f"{kernel.name} half", check
    # A column by a row, and also a matrix if there are three operands.
    rows, columns = 61, 1021  # primes
    many = rows * copies_beyond(beyond, rows * columns)
    for kernel in BROADCAST:
        if kernel.name in _LARGE_BROADCAST:
            shapes, large = (
                [(n, columns), (n, 1), (columns,)][-kernel.arity :] for n in (rows, many)
            )
            large.append((many, columns))
            check = functools.partial(_check_large, kernel=kernel, shapes=shapes, large=large)
            yield f"{kernel.name} half", check
    yield "ZeroOut half", functools.partial(_large_zero_out, beyond=beyond)


SMALL = [(k, [(1000,)] * (k.arity + 1)) for k in (*ELEMENTWISE, *BROADCAST, *ZERO_OUT)]


def rows(
    device: Device,
    dtype: NumericType,
    kernel: PointwiseKernel,
    shapes: Sequence[Sequence[int]],
    suffix: str = "",
) -> Iterator[Row]:
    """A launch on random tensors; the last shape is the outputs'."""
    inputs = [random_buffer(device, dtype, shape) for shape in shapes[:-1]]
    outputs = _outputs(device, kernel, dtype, shapes[-1])
    work = functools.partial(kernel.launch, device, dtype, inputs, outputs)
    moved = outputs if kernel in ZERO_OUT else (*inputs, *outputs)
    yield Row(kernel.name + suffix, dtype.name, sum(x.size for x in moved), work)


def same_shapes(kernels: Iterable[PointwiseKernel], size: int) -> Iterator[tuple]:
    """Tensors of `size` bytes, in every type."""
    for kernel in kernels:
        for dtype in kernel.types:
            yield dtype, kernel, [(size // dtype.storage.itemsize,)] * (kernel.arity + 1)


def timed(size: int) -> Iterator[tuple]:
    """Tensors of `size` bytes, and rows by columns."""
    # The last of the kernels that differ only in their attributes.
    by_name = {kernel.name: kernel for kernel in (*ELEMENTWISE, *BROADCAST, *ZERO_OUT)}
    yield from same_shapes(by_name.values(), size)
    for kernel in BROADCAST:
        for dtype in kernel.types:
            side = math.isqrt(size // dtype.storage.itemsize)
            shapes = [(side, side), (side, 1), (side,)][-kernel.arity :]
            yield dtype, kernel, [*shapes, (side, side)], ", row by column"
