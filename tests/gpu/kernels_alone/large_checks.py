# SPDX-License-Identifier: Apache-2.0
"""Tensors of more than 2^31 elements, where the device has the memory.

Their values repeat with a period that divides no power of two, so that an index
that lost its upper bits shows, and a reference of one period is enough.
"""

import functools
from collections.abc import Iterator

import kernels
import numpy as np
import references
import roi_pool_kernel
from checking import Check, assert_close, generator, random_values
from device import Device
from numeric import FLOAT, HALF
from references import Kernel
from roi_pool_kernel import RoiPool

_BEYOND = 2**31
_PERIOD = 2**24 - 3  # prime


class SkippedError(Exception):
    """The device has too little memory; says how much it would take."""


def _need(device: Device, size: int) -> None:
    needed = size + (1 << 30)  # for what the runtime itself takes
    if device.free_memory < needed:
        raise SkippedError(
            f"needs {needed >> 30} GiB of memory, {device.free_memory >> 30} are free"
        )


def _bits(array: np.ndarray) -> np.ndarray:
    """The values as integers, which NumPy compares fast, half above all."""
    return array.view(f"u{array.dtype.itemsize}")


def _elementwise(device: Device, kernel: Kernel) -> None:
    size = _BEYOND + 12_345
    _need(device, (kernel.arity + 1) * 2 * size)
    random = generator("large", kernel.name)
    stored = [random_values(random, HALF, (_PERIOD,)) for _ in range(kernel.arity)]
    expected = HALF.encode(kernel.expected(HALF, [HALF.decode(x) for x in stored]))
    with device.memory():
        inputs = [device.tile(x, size) for x in stored]
        output = device.empty(size, np.float16)
        kernels.elementwise(
            device, kernel.name, kernel.attributes, HALF, inputs, [output]
        )
        for start, values in device.chunks(output, _PERIOD):
            repeated = np.resize(expected, values.size)
            if not np.array_equal(_bits(values), _bits(repeated)):
                what = f"elements from {start} on"
                assert_close(what, HALF, values, HALF.decode(repeated))


def _broadcast(device: Device) -> None:
    """x [rows, 1] by y [_PERIOD]; x are powers of two, which multiply exactly."""
    rows = _BEYOND // _PERIOD + 2
    _need(device, 2 * rows * _PERIOD)
    random = generator("large broadcast")
    y = random.standard_normal(_PERIOD).astype(np.float16)
    exponents = random.integers(0, 4, rows)
    x = (2.0**exponents).astype(np.float16)
    products = [_bits(np.float16(2.0**e) * y) for e in range(4)]
    with device.memory():
        output = device.empty((rows, _PERIOD), np.float16)
        shapes = (rows, 1), (_PERIOD,), (rows, _PERIOD)
        inputs = device.upload(x.reshape(rows, 1)), device.upload(y)
        kernels.broadcast(device, "MultiplyLeft", HALF, inputs, output, shapes)
        for start, values in device.chunks(output, _PERIOD):
            for i, row in enumerate(_bits(values).reshape(-1, _PERIOD)):
                r = start // _PERIOD + i
                assert np.array_equal(row, products[exponents[r]]), f"row {r}"


def _zero_out(device: Device) -> None:
    size = _BEYOND + 12_345
    _need(device, 4 * size)
    with device.memory():
        values = device.tile(np.arange(1, 2049, dtype=np.float16), size)
        output = device.empty(size, np.float16)
        kernels.zero_out(device, values, output)
        for start, part in device.chunks(output, 1 << 20):
            assert np.count_nonzero(part) == (start == 0), f"from {start} on"


def _roi_data(device: Device) -> None:
    """RoiPool and its gradients of data beyond 2^31 elements."""
    image_shape = (8, 8, 32)
    image_size = int(np.prod(image_shape))
    images = _BEYOND // image_size + 5
    count = images * image_size
    _need(device, 8 * count)
    random = generator("large data")
    pattern = random.permutation(_PERIOD).astype(np.float32)  # no ties
    used = np.array([0, 1, images // 2, images - 2, images - 1])
    elements = used[:, np.newaxis] * image_size + np.arange(image_size)
    data = pattern[elements % _PERIOD].reshape(-1, *image_shape)
    rois = np.tile(np.array([0, 1, 1, 6, 7], np.float32), (used.size, 1))
    rois[:, 0] = np.arange(used.size)
    pooled, argmax = roi_pool_kernel.roi_pool(
        data.astype(np.float64), rois, 1.0, (3, 2)
    )
    gradients = random.integers(-8, 8, pooled.shape).astype(np.float32)
    flat = roi_pool_kernel.roi_elements(rois, argmax, data.shape)
    expected = roi_pool_kernel.roi_pool_grad(gradients, flat, data.shape)
    rois[:, 0] = used
    op = RoiPool(device, FLOAT, (images, *image_shape), used.size, (3, 2))
    with device.memory():
        arguments = device.tile(pattern, count), device.upload(rois)
        outputs = [
            device.empty(op.pooled_shape, dtype) for dtype in (np.float32, np.int32)
        ]
        op.forward(1.0, *arguments, *outputs)
        assert_close("pooled", FLOAT, device.download(outputs[0]), pooled)
        assert np.array_equal(device.download(outputs[1]), argmax), "argmax"
        gathered = device.empty(op.pooled_shape, np.float32)
        op.grad_grad(*arguments, outputs[1], gathered)
        assert_close("gradient's gradient", FLOAT, device.download(gathered), pooled)
    for deterministic in (False, True):
        with device.memory():
            inputs = map(device.upload, (gradients, rois, argmax))
            backprops = device.empty(count, np.float32)
            op.grad(deterministic, *inputs, op.scratch(deterministic), backprops)
            for start, values in device.chunks(backprops, image_size):
                first = start // image_size
                values = values.reshape(-1, *image_shape)
                here = (used >= first) & (used < first + len(values))
                right = np.array_equal(values[used[here] - first], expected[here])
                assert right, f"image {first} or after it"
                values[used[here] - first] = 0
                assert not np.any(values), f"image {first} or after it"


def _roi_pooled(device: Device) -> None:
    """RoiPool of regions whose results are beyond 2^31 elements."""
    shape, bins, period = (1, 6, 7, 1024), (8, 8), 3
    per_roi = bins[0] * bins[1] * shape[-1]
    count = (_BEYOND // per_roi // period + 1) * period
    _need(device, 6 * count * per_roi)
    random = generator("large pooled")
    data = random_values(random, HALF, shape)
    rois = np.array([[0, 0, 0, 6, 5], [0, 2, 1, 4, 9], [0, -3, 3, 3, 3]], np.float16)
    values = rois.astype(np.float32)
    pooled, argmax = roi_pool_kernel.roi_pool(HALF.decode(data), values, 1.0, bins)
    with device.memory():
        op = RoiPool(device, HALF, shape, count, bins)
        arguments = device.upload(data), device.tile(rois, 5 * count)
        outputs = [
            device.empty(op.pooled_shape, dtype) for dtype in (np.float16, np.int32)
        ]
        op.forward(1.0, *arguments, *outputs)
        for output, expected in zip(outputs, (pooled, argmax), strict=True):
            _assert_repeats(device, output, expected)
        op.grad_grad(*arguments, outputs[1], outputs[0])
        _assert_repeats(device, outputs[0], pooled)


def _assert_repeats(
    device: Device, buffer: kernels.Buffer, expected: np.ndarray
) -> None:
    flat = _bits(expected.reshape(-1).astype(buffer.dtype))
    for start, values in device.chunks(buffer, flat.size):
        repeated = np.all(_bits(values).reshape(-1, flat.size) == flat)
        assert repeated, f"elements from {start} on"


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for large tensors; they may raise SkippedError."""
    for kernel in references.ELEMENTWISE:
        if kernel.name in ("Relu", "ReluGrad"):  # the rest share their loops
            check = functools.partial(_elementwise, kernel=kernel)
            yield f"{kernel.name} half, > 2^31 elements", check
    yield "MultiplyLeft half, > 2^31 elements", _broadcast
    yield "ZeroOut half, > 2^31 elements", _zero_out
    yield "RoiPool float, > 2^31 elements of data", _roi_data
    yield "RoiPool half, > 2^31 elements of pooled", _roi_pooled
