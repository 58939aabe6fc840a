# SPDX-License-Identifier: Apache-2.0
"""EmbeddingBag's kernels against NumPy in float64."""

import ctypes
import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np
from arguments import address, array, float_sums
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
from numeric import FLOAT, FLOATING, HALF, INT32, INT64, NumericType
from rows import Row, random_buffer


@dataclasses.dataclass(frozen=True)
class EmbeddingBagProblem:
    """Shapes of one call: indices [bags, bag_size], params [rows, width]."""

    bags: int
    bag_size: int
    rows: int
    width: int
    mean: bool = False

    @property
    def scale(self) -> float:
        """What sums are multiplied by."""
        return 1 / self.bag_size if self.mean and self.bag_size else 1


class EmbeddingBag:
    """The launchers for one problem and its types."""

    def __init__(
        self,
        device: Device,
        dtype: NumericType,
        index_dtype: NumericType,
        problem: EmbeddingBagProblem,
    ) -> None:
        self._device = device
        self._dtype = dtype
        self._index_dtype = index_dtype
        self._problem = problem
        self._dims = array(ctypes.c_int64, dataclasses.astuple(problem))

    def forward(self, indices: Buffer, params: Buffer, weights: Buffer, output: Buffer) -> None:
        """Launches LaunchEmbeddingBag."""
        buffers = map(address, (indices, params, weights, output))
        self._call("Kernel_EmbeddingBag", *buffers)

    def weights_grad(
        self, gradients: Buffer, indices: Buffer, params: Buffer, backprops: Buffer
    ) -> None:
        """Launches LaunchEmbeddingBagWeightsGrad."""
        buffers = map(address, (gradients, indices, params, backprops))
        self._call("Kernel_EmbeddingBagWeightsGrad", *buffers)

    def sums(self) -> Buffer | None:
        """What the gradient of params needs beside its output."""
        shape = self._problem.rows, self._problem.width
        return float_sums(self._device, self._dtype, shape)

    def params_grad(
        self,
        deterministic: bool,
        gradients: Buffer,
        indices: Buffer,
        weights: Buffer,
        sums: Buffer | None,
        backprops: Buffer,
    ) -> None:
        """Launches LaunchEmbeddingBagParamsGrad."""
        buffers = map(address, (gradients, indices, weights, sums, backprops))
        flag = ctypes.c_int32(deterministic)
        self._call("Kernel_EmbeddingBagParamsGrad", flag, *buffers)

    def _call(self, name: str, *arguments: object) -> None:
        codes = (ctypes.c_int32(t.code) for t in (self._dtype, self._index_dtype))
        self._device.call(name, *codes, self._dims, *arguments, self._device.stream)


_PROBLEMS = (
    EmbeddingBagProblem(1, 1, 1, 1),
    EmbeddingBagProblem(5, 7, 9, 67, mean=True),
    EmbeddingBagProblem(33, 4, 100, 64),
    EmbeddingBagProblem(3, 300, 5, 8, mean=True),  # rows with many positions
    EmbeddingBagProblem(17, 20, 4000, 33),  # more rows than blocks
    EmbeddingBagProblem(40, 3, 11, 700),  # wider than a block
    EmbeddingBagProblem(7, 3, 12, 24),
    EmbeddingBagProblem(6, 3, 11, 272),  # more packs than a warp has threads
    EmbeddingBagProblem(4, 0, 3, 5, mean=True),
    EmbeddingBagProblem(0, 4, 3, 5),
    EmbeddingBagProblem(4, 4, 0, 5),
    EmbeddingBagProblem(4, 4, 3, 0),
)
_BAD = (-1, -(2**31), 2**31 - 1)


def _indices(
    random: np.random.Generator, problem: EmbeddingBagProblem, dtype: NumericType
) -> np.ndarray:
    """Rows, and some that are none: these cannot be refused, and are left out."""
    shape = problem.bags, problem.bag_size
    indices = random.integers(0, max(problem.rows, 1), shape)
    bad = random.choice([*_BAD, problem.rows], shape)
    is_bad = random.random(shape) < 0.1
    return np.where(is_bad, bad, indices).astype(dtype.storage)


def _check(
    device: Device,
    problem: EmbeddingBagProblem,
    dtype: NumericType,
    index_dtype: NumericType,
    offset: int,
    bag_copies: int = 1,
    row_copies: int = 1,
) -> None:
    """The rows repeat `row_copies` times, and indices are those of the last copy;
    the bags repeat `bag_copies` times. Addresses are `offset` elements off their
    alignment."""
    random = generator(problem, dtype.name)
    indices = _indices(random, problem, index_dtype)
    params = random_values(random, dtype, (problem.rows, problem.width))
    weights = random_values(random, dtype, indices.shape)
    gradients = random_values(random, dtype, (problem.bags, problem.width))
    p, w, g = (dtype.decode(x) for x in (params, weights, gradients))
    # A row of zeros for what names none.
    known = (indices >= 0) & (indices < problem.rows)
    table = np.vstack([p, np.zeros((1, problem.width))])
    where = np.where(known, indices, problem.rows).astype(np.int64)
    rows = table[where]
    terms = max(problem.bag_size, problem.width, 1)
    slack = 32 * terms * np.finfo(dtype.compute).eps

    of_last = (row_copies - 1) * problem.rows
    is_moved = (indices >= 0) & (indices <= problem.rows)
    moved = (indices + np.where(is_moved, of_last, 0)).astype(indices.dtype)
    repeated = dataclasses.replace(
        problem, bags=bag_copies * problem.bags, rows=row_copies * problem.rows
    )
    with device.memory():
        op = EmbeddingBag(device, dtype, index_dtype, repeated)
        i_device = device.repeat(moved, bag_copies)
        p_device = device.repeat(params, row_copies, offset)
        w_device = device.repeat(weights, bag_copies, offset)
        g_device = device.repeat(gradients, bag_copies, offset)
        output = device.empty(g_device.shape, dtype.storage, offset)
        op.forward(i_device, p_device, w_device, output)
        expected = dtype.round(np.einsum("bl,ble->be", w, rows) * problem.scale)
        assert_repeats("output", device, dtype, output, expected, 2, slack)

        backprops = device.empty(w_device.shape, dtype.storage, offset)
        op.weights_grad(g_device, i_device, p_device, backprops)
        expected = dtype.round(np.einsum("be,ble->bl", g, rows) * problem.scale)
        name = "gradient of weights"
        assert_repeats(name, device, dtype, backprops, expected, 2, slack)

        total, sizes = np.zeros(table.shape), np.zeros(table.shape)
        added = w[..., np.newaxis] * g[:, np.newaxis] * problem.scale
        np.add.at(total, where, added)
        np.add.at(sizes, where, np.abs(added))
        expected = dtype.round(total[:-1])
        slack = np.maximum(np.sum(known), 4) * sizes[:-1] * np.finfo(dtype.compute).eps
        g_device = device.last_of(gradients, bag_copies, offset)
        for deterministic in (False, True):
            with device.memory():
                backprops = device.empty(p_device.shape, dtype.storage, offset)
                op.params_grad(deterministic, g_device, i_device, w_device, op.sums(), backprops)
                name = f"gradient of params, deterministic: {deterministic}"
                assert_last(name, device, dtype, backprops, expected, 2, slack)


def _repeatable(device: Device) -> None:
    """The deterministic gradient gives the same bits ten times over."""
    random = generator("embedding bag repeatable")
    problem = EmbeddingBagProblem(500, 20, 50, 96)
    with device.memory():
        op = EmbeddingBag(device, FLOAT, INT32, problem)
        shape = problem.bags, problem.bag_size
        indices = device.upload(random.integers(0, 50, shape).astype(np.int32))
        weights = device.upload(random.standard_normal(shape).astype(np.float32))
        gradients = random.standard_normal((problem.bags, problem.width))
        on_device = device.upload(gradients.astype(np.float32))
        backprops = device.empty((problem.rows, problem.width), np.float32)
        arguments = on_device, indices, weights, None, backprops
        launch = functools.partial(op.params_grad, True, *arguments)
        assert_same_bits(device, launch, [backprops])


def _streams(device: Device) -> None:
    """The launches go to the stream they are given."""
    problem = EmbeddingBagProblem(5, 4, 6, 8)
    for dtype in FLOATING:
        with device.memory():
            op = EmbeddingBag(device, dtype, INT32, problem)
            indices = device.upload(np.zeros((5, 4), np.int32))
            weights = device.upload(np.zeros((5, 4), dtype.storage))
            params = device.upload(np.zeros((6, 8), dtype.storage))
            bags = device.upload(np.zeros((5, 8), dtype.storage))
            work = {
                "EmbeddingBag": functools.partial(op.forward, indices, params, weights, bags),
                "EmbeddingBagWeightsGrad": functools.partial(
                    op.weights_grad, bags, indices, params, weights
                ),
            }
            for deterministic in (False, True):
                name = f"EmbeddingBagParamsGrad, deterministic: {deterministic}"
                arguments = bags, indices, weights, op.sums(), params
                work[name] = functools.partial(op.params_grad, deterministic, *arguments)
            assert_on_stream(device, work)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for EmbeddingBag and its gradients."""
    yield "EmbeddingBag streams", _streams
    for dtype in FLOATING:
        for problem in _PROBLEMS:
            check = functools.partial(_check, problem=problem, dtype=dtype)
            # Whole packs of a row, and single elements.
            for offset, index_dtype in itertools.product((0, 1), (INT32, INT64)):
                yield (
                    f"EmbeddingBag {dtype.name} {dataclasses.astuple(problem)}, "
                    f"offset {offset}, {index_dtype.name}",
                    functools.partial(check, index_dtype=index_dtype, offset=offset),
                )
    yield "EmbeddingBagParamsGrad repeatable", _repeatable


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than `beyond` elements of params, and of the output."""
    partial = functools.partial
    of_half = partial(_check, dtype=HALF, index_dtype=INT32, offset=0)
    problem = EmbeddingBagProblem(17, 5, 33, 64)
    copies = copies_beyond(beyond, problem.rows * problem.width)
    check = partial(of_half, problem=problem, row_copies=copies)
    yield "EmbeddingBag half of params", check
    problem = EmbeddingBagProblem(17, 3, 331, 64)
    copies = copies_beyond(beyond, problem.bags * problem.width)
    check = partial(of_half, problem=problem, bag_copies=copies)
    yield "EmbeddingBag half of bags", check


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """Bags of 32 from a table of `size` bytes, as many rows as it has; E = 128."""
    random = generator("timing", "embedding bag")
    width, bag_size = 128, 32
    for dtype in FLOATING:
        rows = max(1, size // (width * dtype.storage.itemsize))
        problem = EmbeddingBagProblem(max(1, rows // bag_size), bag_size, rows, width)
        shape = problem.bags, bag_size
        with device.memory():
            op = EmbeddingBag(device, dtype, INT32, problem)
            indices = device.upload(random.integers(0, rows, shape).astype(np.int32))
            params = random_buffer(device, dtype, rows * width)
            weights = random_buffer(device, dtype, math.prod(shape))
            bags = random_buffer(device, dtype, problem.bags * width)
            total = indices.size + params.size + weights.size + bags.size
            forward = functools.partial(op.forward, indices, params, weights, bags)
            yield Row("EmbeddingBag", dtype.name, total, forward)
            work = functools.partial(op.weights_grad, bags, indices, params, weights)
            yield Row("EmbeddingBagWeightsGrad", dtype.name, total, work)
            for deterministic in (False, True):
                arguments = bags, indices, weights, op.sums(), params
                work = functools.partial(op.params_grad, deterministic, *arguments)
                kind = ", deterministic" if deterministic else ""
                yield Row(f"EmbeddingBagParamsGrad{kind}", dtype.name, total, work)
