# SPDX-License-Identifier: Apache-2.0
"""Elementwise and broadcasting kernels and ZeroOut against their references:
shapes, alignments, types, odd values."""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pointwise_kernels as kernels
from checking import (
    Check,
    assert_close,
    assert_last,
    assert_on_stream,
    assert_repeats,
    copies_beyond,
    generator,
    random_values,
)
from device import Buffer, Device
from numeric import FLOATING, HALF, NUMERIC, NumericType
from pointwise_kernels import PointwiseKernel
from rows import Row, random_buffer

# Around the pack of 16 bytes, the warp, the block, and beyond some blocks.
_SIZES = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 255, 256, 257, 2049, 65551)
# Elements by which inputs and output are off the alignment, the last the output.
_OFFSETS = ((0, 0, 0), (1, 1, 1), (7, 7, 7), (0, 1, 2), (3, 3, 0))
_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)


def _special(kernel: PointwiseKernel, dtype: NumericType) -> tuple[float, ...]:
    if not kernel.extremes:
        return _SPECIAL
    largest = {"half": 65504.0, "bfloat16": 3.3895313892515355e38}.get(dtype.name)
    if largest is None and dtype.is_floating:
        largest = float(np.finfo(dtype.storage).max)
    return (*_SPECIAL, largest or 0.0, dtype.tiniest, -dtype.tiniest)


def _elementwise(device: Device, kernel: PointwiseKernel, dtype: NumericType) -> None:
    random = generator(kernel.name, dtype.name)
    special = _special(kernel, dtype)
    sizes = (*_SIZES, *random.integers(1, 20_000, 4).tolist())
    for size in sizes:
        for offsets in _OFFSETS:
            stored = [random_values(random, dtype, (size,), special) for _ in range(kernel.arity)]
            values = [dtype.decode(x) for x in stored]
            limits = kernel.roundoffs, kernel.allowance(dtype, values)
            expected = kernel.expected(dtype, values)
            what = f"size {size}, offsets {offsets[: kernel.arity]}, {offsets[-1]}"
            with device.memory():
                inputs = [
                    device.upload(x, offset) for x, offset in zip(stored, offsets, strict=False)
                ]
                outputs = [
                    device.empty(size, dtype.storage, offsets[-1]) for _ in range(kernel.outputs)
                ]
                arguments = device, kernel.launched, kernel.attributes, dtype, inputs
                kernels.elementwise(*arguments, outputs)
                result = _results(device, outputs)
                assert_close(what, dtype, result, expected, *limits)
                # Outputs may be any of the inputs.
                for targets in itertools.permutations(inputs, kernel.outputs):
                    before = [device.download(target) for target in targets]
                    kernels.elementwise(*arguments, targets)
                    result = _results(device, targets)
                    assert_close(f"{what}, in place", dtype, result, expected, *limits)
                    for target, restored in zip(targets, before, strict=True):
                        device.restore(target, restored)


def _results(device: Device, outputs: Sequence[Buffer]) -> np.ndarray:
    """One output, or several stacked as in `Kernel.function`."""
    results = [device.download(output) for output in outputs]
    return results[0] if len(results) == 1 else np.stack(results)


# Shapes of the operands; the output's is what they broadcast to.
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


def _broadcast(device: Device, kernel: PointwiseKernel, dtype: NumericType) -> None:
    random = generator(kernel.name, dtype.name)
    special = _special(kernel, dtype)
    for shapes in (*_SHAPES, *(_random_shapes(random) for _ in range(12))):
        output_shape = np.broadcast_shapes(*shapes)
        if kernel.arity == 3:  # the first operand is a gradient of the output
            shapes = (output_shape, *shapes)
        for offset in (0, 1):
            stored = [random_values(random, dtype, s, special) for s in shapes]
            values = [dtype.decode(x) for x in stored]
            with device.memory():
                inputs = [device.upload(x, offset) for x in stored]
                outputs = [
                    device.empty(output_shape, dtype.storage, offset) for _ in range(kernel.outputs)
                ]
                arguments = device, kernel.name, dtype, inputs
                kernels.broadcast(*arguments, outputs, (*shapes, output_shape))
                assert_close(
                    f"shapes {shapes}, offset {offset}",
                    dtype,
                    _results(device, outputs),
                    kernel.expected(dtype, values),
                    kernel.roundoffs,
                    kernel.allowance(dtype, values),
                )


def _in_place_broadcast(device: Device, kernel: PointwiseKernel, dtype: NumericType) -> None:
    random = generator(kernel.name, dtype.name, "in place")
    for columns in (129, 616):  # no packs; packs of every type
        output_shape = (7, columns)
        shapes = (output_shape, output_shape, (columns,))[-kernel.arity :]
        stored = [random_values(random, dtype, shape) for shape in shapes]
        values = [dtype.decode(x) for x in stored]
        limits = kernel.roundoffs, kernel.allowance(dtype, values)
        with device.memory():
            inputs = [device.upload(x) for x in stored]
            outputs = inputs[: kernel.outputs]
            all_shapes = (*shapes, output_shape)
            kernels.broadcast(device, kernel.name, dtype, inputs, outputs, all_shapes)
            result = _results(device, outputs)
            expected = kernel.expected(dtype, values)
            assert_close("in place", dtype, result, expected, *limits)


def _zero_out(device: Device, dtype: NumericType) -> None:
    random = generator("ZeroOut", dtype.name)
    for size in _SIZES:
        for offset in (0, 1):
            stored = random_values(random, dtype, (size,))
            expected = dtype.decode(stored).copy()
            expected[1:] = 0
            with device.memory():
                values = device.upload(stored, offset)
                output = device.empty(size, dtype.storage, offset)
                for target in (output, values):
                    kernels.zero_out(device, values, target)
                    result = device.download(target)
                    assert_close(f"size {size}", dtype, result, expected)
                kernels.clear(device, output)
                result = device.download(output)
                assert_close(f"clear {size}", dtype, result, 0 * expected)


def _streams(device: Device) -> None:
    """Elementwise and broadcasting launches go to the stream they are given."""
    dtype = FLOATING[2]
    with device.memory():
        buffers = [device.upload(np.ones(1000, np.float32)) for _ in range(5)]
        *inputs, output, second = buffers
        for kernel in kernels.ELEMENTWISE:
            work = functools.partial(
                kernels.elementwise,
                device,
                kernel.launched,
                kernel.attributes,
                dtype,
                inputs[: kernel.arity],
                [output, second][: kernel.outputs],
            )
            assert device.recorded(work) == 1, f"{kernel.name}: not on its stream"
        for kernel in kernels.BROADCAST:
            shapes = ((1000,),) * (kernel.arity + 1)
            work = functools.partial(
                kernels.broadcast,
                device,
                kernel.name,
                dtype,
                inputs[: kernel.arity],
                [output, second][: kernel.outputs],
                shapes,
            )
            assert device.recorded(work) == 1, f"{kernel.name}: not on its stream"
        work = functools.partial(kernels.zero_out, device, inputs[0], output)
        assert_on_stream(device, {"ZeroOut": work})


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for elementwise and broadcasting kernels and ZeroOut."""
    yield "streams", _streams
    for kernel in kernels.ELEMENTWISE:
        for dtype in kernel.types:
            name = f"{kernel.name} {dtype.name}"
            yield name, functools.partial(_elementwise, kernel=kernel, dtype=dtype)
    for kernel in kernels.BROADCAST:
        for dtype in kernel.types:
            name = f"{kernel.name} {dtype.name}"
            partial = functools.partial
            yield name, partial(_broadcast, kernel=kernel, dtype=dtype)
            name = f"{name} in place"
            yield name, partial(_in_place_broadcast, kernel=kernel, dtype=dtype)
    for dtype in NUMERIC:
        yield f"ZeroOut {dtype.name}", functools.partial(_zero_out, dtype=dtype)


_PERIOD = 65_521  # prime: an index that lost its upper bits finds another value
_LARGE = ("Relu", "ReluGrad", "SwiGluGrad")  # by arity; the rest share their loops
_LARGE_BROADCAST = ("MultiplyLeft", "SnakeGrad")


def _large_elementwise(device: Device, kernel: PointwiseKernel, beyond: int) -> None:
    size, dtype = beyond + 12_345, HALF
    random = generator("large", kernel.name)
    stored = [random_values(random, dtype, (_PERIOD,)) for _ in range(kernel.arity)]
    values = [dtype.decode(x) for x in stored]
    expected = kernel.expected(dtype, values).reshape(kernel.outputs, _PERIOD)
    slack = np.broadcast_to(kernel.allowance(dtype, values), expected.shape)
    with device.memory():
        inputs = [device.tile(x, size) for x in stored]
        outputs = [device.empty(size, dtype.storage) for _ in range(kernel.outputs)]
        kernels.elementwise(device, kernel.launched, kernel.attributes, dtype, inputs, outputs)
        for k, output in enumerate(outputs):
            limits = kernel.roundoffs, slack[k]
            assert_repeats(f"output {k}", device, dtype, output, expected[k], *limits)


def _large_broadcast(device: Device, kernel: PointwiseKernel, beyond: int) -> None:
    """A column by a row, and a matrix where there are three."""
    rows, columns, dtype = 61, 1021, HALF  # primes
    copies = copies_beyond(beyond, rows * columns)
    random = generator("large", kernel.name)
    shapes = ((rows, columns), (rows, 1), (columns,))[-kernel.arity :]
    stored = [random_values(random, dtype, shape) for shape in shapes]
    values = [dtype.decode(x) for x in stored]
    expected = kernel.expected(dtype, values).reshape(kernel.outputs, rows, columns)
    slack = np.broadcast_to(kernel.allowance(dtype, values), expected.shape)
    with device.memory():
        inputs = [device.repeat(x, copies) for x in stored[:-1]]
        inputs.append(device.upload(stored[-1]))
        outputs = [
            device.empty((copies * rows, columns), dtype.storage) for _ in range(kernel.outputs)
        ]
        all_shapes = [buffer.shape for buffer in (*inputs, outputs[0])]
        kernels.broadcast(device, kernel.name, dtype, inputs, outputs, all_shapes)
        for k, output in enumerate(outputs):
            limits = kernel.roundoffs, slack[k]
            assert_repeats(f"output {k}", device, dtype, output, expected[k], *limits)


def _large_zero_out(device: Device, beyond: int) -> None:
    pattern = np.arange(1, 2049, dtype=np.float16)
    with device.memory():
        values = device.tile(pattern, beyond + 12_345)
        output = device.empty(values.count, np.float16)
        kernels.zero_out(device, values, output)
        first = device.part(output, 0, 1)
        assert device.download(first) == pattern[0], "the element that is kept"
        device.restore(first, np.zeros(1))
        assert_last("the rest", device, HALF, output, np.zeros(1))


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for tensors of more than `beyond` elements."""
    partial = functools.partial
    for kernel in kernels.ELEMENTWISE:
        if kernel.name in _LARGE:
            check = partial(_large_elementwise, kernel=kernel, beyond=beyond)
            yield f"{kernel.name} half", check
    for kernel in kernels.BROADCAST:
        if kernel.name in _LARGE_BROADCAST:
            check = partial(_large_broadcast, kernel=kernel, beyond=beyond)
            yield f"{kernel.name} half", check
    yield "ZeroOut half", partial(_large_zero_out, beyond=beyond)


def _same_shapes(device: Device, size: int) -> Iterator[Row]:
    """The kernels whose tensors all have the same shape; one row at a time."""
    for kernel in (*kernels.ELEMENTWISE, *kernels.BROADCAST):
        for dtype in kernel.types:
            count = size // dtype.storage.itemsize
            with device.memory():
                inputs = [random_buffer(device, dtype, count) for _ in range(kernel.arity)]
                outputs = [device.empty(count, dtype.storage) for _ in range(kernel.outputs)]
                if kernel in kernels.ELEMENTWISE:
                    arguments = (kernel.launched, kernel.attributes, dtype, inputs, outputs)
                    work = functools.partial(kernels.elementwise, device, *arguments)
                else:
                    shapes = ((count,),) * (kernel.arity + 1)
                    work = functools.partial(
                        kernels.broadcast, device, kernel.name, dtype, inputs, outputs, shapes
                    )
                total = sum(buffer.size for buffer in (*inputs, *outputs))
                yield Row(kernel.name, dtype.name, total, work)


def _outer(device: Device, size: int) -> Iterator[Row]:
    """The broadcasting kernels of a row and a column."""
    for kernel in kernels.BROADCAST:
        for dtype in kernel.types:
            side = math.isqrt(size // dtype.storage.itemsize)
            shapes: list[tuple[int, ...]] = [(side, 1), (side,), (side, side)]
            if kernel.arity == 3:
                shapes.insert(0, (side, side))
            with device.memory():
                inputs = [random_buffer(device, dtype, math.prod(shape)) for shape in shapes[:-1]]
                outputs = [device.empty(side * side, dtype.storage) for _ in range(kernel.outputs)]
                work = functools.partial(
                    kernels.broadcast, device, kernel.name, dtype, inputs, outputs, shapes
                )
                total = sum(buffer.size for buffer in (*inputs, *outputs))
                yield Row(f"{kernel.name}, row by column", dtype.name, total, work)


def _zero_out_rows(device: Device, size: int) -> Iterator[Row]:
    for dtype in NUMERIC:
        with device.memory():
            values = random_buffer(device, dtype, size // dtype.storage.itemsize)
            output = device.empty(values.count, dtype.storage)
            work = functools.partial(kernels.zero_out, device, values, output)
            yield Row("ZeroOut", dtype.name, output.size, work)


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """The rows of these kernels for tensors of `size` bytes."""
    yield from _same_shapes(device, size)
    yield from _outer(device, size)
    yield from _zero_out_rows(device, size)
