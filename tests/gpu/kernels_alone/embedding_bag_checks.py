"""EmbeddingBag's kernels against NumPy in float64."""

import dataclasses
import functools
import itertools
import struct
from collections.abc import Iterator

import numpy as np
from checking import Check, assert_last, assert_repeats, copies_beyond, generator, random_values
from device import Device
from numeric import FLOAT, FLOATING, HALF, INT32, INT64, NumericType
from rows import Row, check_repeatable, random_buffer


@dataclasses.dataclass(frozen=True)
class _Problem:
    """Shapes of one call: indices [bags, bag_size], params [rows, width]."""

    bags: int
    bag_size: int
    rows: int
    width: int
    mean: bool = False

    @property
    def scale(self) -> float:
        """The factor of sums."""
        return 1 / self.bag_size if self.mean and self.bag_size else 1

    @property
    def dims(self) -> bytes:
        """The members of EmbeddingBagDims; 0q pads as C++ does."""
        return struct.pack("4q?0q", *dataclasses.astuple(self))


_PROBLEMS = (
    _Problem(1, 1, 1, 1),
    _Problem(5, 7, 9, 67, mean=True),
    _Problem(33, 4, 100, 64),
    _Problem(3, 300, 5, 8, mean=True),  # rows with many positions
    _Problem(17, 20, 4000, 33),  # more rows than blocks
    _Problem(40, 3, 11, 700),  # wider than a block
    _Problem(7, 3, 12, 24),
    _Problem(6, 3, 11, 272),  # more packs than a warp has threads
    _Problem(4, 0, 3, 5, mean=True),
    _Problem(0, 4, 3, 5),
    _Problem(4, 4, 0, 5),
    _Problem(4, 4, 3, 0),
)
_BAD = (-1, -(2**31), 2**31 - 1)


def _indices(random: np.random.Generator, problem: _Problem, dtype: NumericType) -> np.ndarray:
    """Rows, and some invalid ones, which cannot be refused and are ignored."""
    shape = problem.bags, problem.bag_size
    indices = random.integers(0, max(problem.rows, 1), shape)
    bad = random.choice([*_BAD, problem.rows], shape)
    is_bad = random.random(shape) < 0.1
    return np.where(is_bad, bad, indices).astype(dtype.storage)


def _check(
    device: Device,
    problem: _Problem,
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
    # A row of zeros for invalid indices.
    known = (indices >= 0) & (indices < problem.rows)
    table = np.vstack([p, np.zeros((1, problem.width))])
    where = np.where(known, indices, problem.rows).astype(np.int64)
    found = table[where]
    slack = 32 * max(problem.bag_size, problem.width, 1) * dtype.epsilon

    of_last = (row_copies - 1) * problem.rows
    is_moved = (indices >= 0) & (indices <= problem.rows)
    moved = (indices + np.where(is_moved, of_last, 0)).astype(indices.dtype)
    first = (
        dtype,
        index_dtype,
        dataclasses.replace(
            problem, bags=bag_copies * problem.bags, rows=row_copies * problem.rows
        ).dims,
    )
    with device.memory():
        i_device = device.repeat(moved, bag_copies)
        p_device = device.repeat(params, row_copies, offset)
        w_device, g_device = (device.repeat(x, bag_copies, offset) for x in (weights, gradients))
        output = device.empty(g_device.shape, dtype.storage, offset)
        device.launch("EmbeddingBag", *first, i_device, p_device, w_device, output)
        expected = dtype.round(np.einsum("bl,ble->be", w, found) * problem.scale)
        assert_repeats("output", device, dtype, output, expected, 2, slack)

        backprops = device.empty(w_device.shape, dtype.storage, offset)
        device.launch("EmbeddingBagWeightsGrad", *first, g_device, i_device, p_device, backprops)
        expected = dtype.round(np.einsum("be,ble->bl", g, found) * problem.scale)
        name = "gradient of weights"
        assert_repeats(name, device, dtype, backprops, expected, 2, slack)

        total, sizes = np.zeros(table.shape), np.zeros(table.shape)
        added = w[..., np.newaxis] * g[:, np.newaxis] * problem.scale
        np.add.at(total, where, added)
        np.add.at(sizes, where, np.abs(added))
        expected = dtype.round(total[:-1])
        slack = np.maximum(np.sum(known), 4) * sizes[:-1] * dtype.epsilon
        g_device = device.last_of(gradients, bag_copies, offset)
        for deterministic in (False, True):
            with device.memory():
                sums = device.sums(dtype, p_device.shape)
                backprops = device.empty(p_device.shape, dtype.storage, offset)
                arguments = deterministic, g_device, i_device, w_device, sums, backprops
                device.launch("EmbeddingBagParamsGrad", *first, *arguments)
                name = f"gradient of params, deterministic: {deterministic}"
                assert_last(name, device, dtype, backprops, expected, 2, slack)


SMALL = [(_Problem(5, 4, 6, 8),)]


def rows(device: Device, dtype: NumericType, problem: _Problem) -> Iterator[Row]:
    random = generator("timing", "embedding bag")
    shape = problem.bags, problem.bag_size
    drawn = random.integers(0, problem.rows, shape).astype(np.int32)
    indices, weights = device.upload(drawn), random_buffer(device, dtype, shape)
    params = random_buffer(device, dtype, (problem.rows, problem.width))
    bags = random_buffer(device, dtype, (problem.bags, problem.width))
    sums = device.sums(dtype, params.shape)
    total = indices.size + params.size + weights.size + bags.size
    for name, repeatable, *arguments in (
        ("", [], indices, params, weights, bags),
        ("WeightsGrad", [], bags, indices, params, weights),
        ("ParamsGrad", [], False, bags, indices, weights, sums, params),
        ("ParamsGrad, deterministic", [params], True, bags, indices, weights, sums, params),
    ):
        launcher = f"EmbeddingBag{name.partition(',')[0]}"
        arguments = [dtype, INT32, problem.dims, *arguments]
        work = functools.partial(device.launch, launcher, *arguments)
        yield Row(f"EmbeddingBag{name}", dtype.name, total, work, repeatable)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for EmbeddingBag and its gradients."""
    partial = functools.partial
    for dtype, problem in itertools.product(FLOATING, _PROBLEMS):
        check = partial(_check, problem=problem, dtype=dtype)
        # Full packs of a row, and single elements.
        for offset, index_dtype in itertools.product((0, 1), (INT32, INT64)):
            yield (
                f"EmbeddingBag {dtype.name} {dataclasses.astuple(problem)}, "
                f"offset {offset}, {index_dtype.name}",
                partial(check, index_dtype=index_dtype, offset=offset),
            )
    launches = partial(rows, dtype=FLOAT, problem=_Problem(500, 20, 50, 96))
    yield "EmbeddingBagParamsGrad repeatable", partial(check_repeatable, rows=launches)


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than `beyond` elements of params, and of the output."""
    for name, argument, problem, small in (
        ("params", "row_copies", _Problem(17, 5, 33, 64), 33),
        ("bags", "bag_copies", _Problem(17, 3, 331, 64), 17),
    ):
        copies = {argument: copies_beyond(beyond, small * problem.width)}
        check = functools.partial(
            _check, problem=problem, dtype=HALF, index_dtype=INT32, offset=0, **copies
        )
        yield f"EmbeddingBag half of {name}", check


def timed(size: int) -> Iterator[tuple]:
    """Bags of 32 from a table of `size` bytes, with as many rows as it holds; E = 128."""
    width, bag_size = 128, 32
    for dtype in FLOATING:
        count = max(1, size // (width * dtype.storage.itemsize))
        yield dtype, _Problem(max(1, count // bag_size), bag_size, count, width)
