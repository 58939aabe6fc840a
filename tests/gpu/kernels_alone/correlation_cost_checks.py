# SPDX-License-Identifier: Apache-2.0
"""CorrelationCost's kernels against NumPy in float64."""

import ctypes
import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np
from arguments import address, array
from checking import (
    Check,
    assert_on_stream,
    assert_repeats,
    copies_beyond,
    generator,
    random_values,
)
from device import Buffer, Device
from numeric import FLOATING, HALF, NumericType
from rows import Row, random_buffer


@dataclasses.dataclass(frozen=True)
class CorrelationCostProblem:
    """Shapes of one call: images [N, H, W, C] and the attributes."""

    images: tuple[int, int, int, int]
    kernel_size: int
    max_displacement: int
    stride_1: int
    stride_2: int
    pad: int

    @property
    def displacements(self) -> int:
        """D: the displacements along one axis."""
        return 2 * (self.max_displacement // self.stride_2) + 1

    @property
    def costs(self) -> tuple[int, int, int, int]:
        """The shape of the output."""
        border = self.max_displacement + (self.kernel_size - 1) // 2
        height, width = (
            -(-(size + 2 * self.pad - 2 * border) // self.stride_1) for size in self.images[1:3]
        )
        return self.images[0], height, width, self.displacements**2

    def spans(self) -> tuple[int, int]:
        """The rows and columns that the windows cover together."""
        _, height, width, _ = self.costs
        return (
            (height - 1) * self.stride_1 + self.kernel_size,
            (width - 1) * self.stride_1 + self.kernel_size,
        )


class CorrelationCost:
    """The launchers for one problem and one type."""

    def __init__(self, device: Device, dtype: NumericType, problem: CorrelationCostProblem) -> None:
        self._device = device
        self._dtype = dtype
        attributes = (
            problem.displacements,
            problem.kernel_size,
            problem.max_displacement,
            problem.stride_1,
            problem.stride_2,
            problem.pad,
        )
        sizes = [*problem.images, *problem.costs[1:3], *attributes]
        self._dims = array(ctypes.c_int64, sizes)

    def forward(self, a: Buffer, b: Buffer, costs: Buffer) -> None:
        """Launches LaunchCorrelationCost."""
        self._call("Kernel_CorrelationCost", *map(address, (a, b, costs)))

    def grad(self, argument: int, gradients: Buffer, other: Buffer, backprops: Buffer) -> None:
        """Launches LaunchCorrelationCostGrad; `argument` 0 is a, 1 is b."""
        buffers = map(address, (gradients, other, backprops))
        self._call("Kernel_CorrelationCostGrad", ctypes.c_int32(argument), *buffers)

    def _call(self, name: str, *arguments: object) -> None:
        code = ctypes.c_int32(self._dtype.code)
        self._device.call(name, code, self._dims, *arguments, self._device.stream)


def _padded(images: np.ndarray, problem: CorrelationCostProblem) -> np.ndarray:
    edge = (problem.pad, problem.pad)
    return np.pad(images, ((0, 0), edge, edge, (0, 0)))


def _pairs(problem: CorrelationCostProblem) -> Iterator[tuple[int, tuple, tuple]]:
    """Each displacement's channel, and the pixels of padded images that it pairs:
    those of a, and those of b."""
    height, width = problem.spans()
    first = problem.max_displacement
    reach = problem.displacements // 2 * problem.stride_2
    steps = range(-reach, reach + 1, problem.stride_2)
    of_a = np.s_[:, first : first + height, first : first + width]
    for channel, (dy, dx) in enumerate(itertools.product(steps, steps)):
        y, x = first + dy, first + dx
        yield channel, of_a, np.s_[:, y : y + height, x : x + width]


def _windows(problem: CorrelationCostProblem) -> Iterator[tuple]:
    """The pixel of every window, for each place in a window."""
    _, height, width, _ = problem.costs
    step = problem.stride_1
    for i, j in np.ndindex(problem.kernel_size, problem.kernel_size):
        yield np.s_[:, i : i + height * step : step, j : j + width * step : step]


def correlation_cost(a: np.ndarray, b: np.ndarray, problem: CorrelationCostProblem) -> np.ndarray:
    """A. Dosovitskiy et al., "FlowNet", ICCV 2015, section 3."""
    costs = np.zeros(problem.costs)
    if a.size == 0:
        return costs
    a, b = _padded(a, problem), _padded(b, problem)
    for channel, of_a, of_b in _pairs(problem):
        products = np.sum(a[of_a] * b[of_b], axis=3)
        for window in _windows(problem):
            costs[..., channel] += products[window]
    return costs / (problem.kernel_size**2 * problem.images[3])


def correlation_cost_grad(
    gradients: np.ndarray, a: np.ndarray, b: np.ndarray, problem: CorrelationCostProblem
) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of both images."""
    if a.size == 0:
        return np.zeros(a.shape), np.zeros(b.shape)
    padded_a, padded_b = _padded(a, problem), _padded(b, problem)
    grad_a, grad_b = np.zeros(padded_a.shape), np.zeros(padded_b.shape)
    for channel, of_a, of_b in _pairs(problem):
        spread = np.zeros((problem.images[0], *problem.spans()))
        for window in _windows(problem):
            spread[window] += gradients[..., channel]
        grad_a[of_a] += spread[..., np.newaxis] * padded_b[of_b]
        grad_b[of_b] += spread[..., np.newaxis] * padded_a[of_a]
    _, height, width, channels = problem.images
    inside = np.s_[:, problem.pad : problem.pad + height, problem.pad : problem.pad + width]
    count = problem.kernel_size**2 * channels
    return grad_a[inside] / count, grad_b[inside] / count


_PROBLEMS = (
    CorrelationCostProblem((1, 1, 1, 1), 1, 0, 1, 1, 0),
    CorrelationCostProblem((2, 7, 9, 16), 1, 4, 1, 1, 4),
    CorrelationCostProblem((1, 5, 6, 8), 1, 2, 1, 1, 2),
    CorrelationCostProblem((1, 7, 9, 20), 1, 4, 1, 2, 4),
    CorrelationCostProblem((1, 6, 11, 260), 1, 3, 1, 1, 3),  # more packs than a warp has threads
    CorrelationCostProblem((1, 3, 4, 48), 1, 1, 1, 1, 1),
    CorrelationCostProblem((1, 3, 4, 272), 1, 1, 1, 1, 1),  # also of 16-bit types
    CorrelationCostProblem((2, 9, 8, 5), 3, 2, 1, 1, 3),
    CorrelationCostProblem((1, 9, 8, 5), 3, 2, 2, 1, 5),
    CorrelationCostProblem((1, 12, 13, 3), 1, 3, 3, 2, 4),  # pixels in no window
    CorrelationCostProblem((1, 12, 13, 33), 3, 2, 4, 1, 2),
    CorrelationCostProblem((1, 3, 4, 17), 5, 4, 1, 3, 8),  # windows outside the image
    CorrelationCostProblem((1, 5, 40, 16), 1, 20, 1, 2, 20),
    CorrelationCostProblem((0, 4, 4, 2), 1, 1, 1, 1, 1),
    CorrelationCostProblem((2, 0, 4, 2), 1, 1, 1, 1, 2),
    CorrelationCostProblem((2, 4, 4, 0), 1, 1, 1, 1, 1),
)


def _check(
    device: Device,
    problem: CorrelationCostProblem,
    dtype: NumericType,
    offset: int,
    copies: int = 1,
) -> None:
    """The images repeat `copies` times; addresses are `offset` elements off their
    alignment."""
    random = generator(problem, dtype.name)
    a = random_values(random, dtype, problem.images)
    b = random_values(random, dtype, problem.images)
    gradients = random_values(random, dtype, problem.costs)
    exact_a, exact_b, exact = (dtype.decode(x) for x in (a, b, gradients))
    # A rounding for each term, then one of the type.
    terms = problem.kernel_size**2 * max(problem.images[3], problem.displacements**2)
    slack = 32 * math.sqrt(terms) * np.finfo(dtype.compute).eps
    images = copies * problem.images[0], *problem.images[1:]
    repeated = dataclasses.replace(problem, images=images)
    with device.memory():
        op = CorrelationCost(device, dtype, repeated)
        of_a, of_b, upstream = (device.repeat(x, copies, offset) for x in (a, b, gradients))
        costs = device.empty(repeated.costs, dtype.storage, offset)
        op.forward(of_a, of_b, costs)
        expected = dtype.round(correlation_cost(exact_a, exact_b, problem))
        assert_repeats("costs", device, dtype, costs, expected, 2, slack)

        expected_grads = correlation_cost_grad(exact, exact_a, exact_b, problem)
        for argument, other in enumerate((of_b, of_a)):
            backprops = device.empty(images, dtype.storage, offset)
            op.grad(argument, upstream, other, backprops)
            expected = dtype.round(expected_grads[argument])
            name = f"gradient of {'ab'[argument]}"
            assert_repeats(name, device, dtype, backprops, expected, 2, slack)


def _streams(device: Device) -> None:
    """The launches go to the stream they are given."""
    problem = _PROBLEMS[1]
    for dtype in FLOATING:
        with device.memory():
            op = CorrelationCost(device, dtype, problem)
            images = device.upload(np.zeros(problem.images, dtype.storage))
            backprops = device.empty(problem.images, dtype.storage)
            costs = device.upload(np.zeros(problem.costs, dtype.storage))
            work = {
                "forward": functools.partial(op.forward, images, images, costs),
                "a": functools.partial(op.grad, 0, costs, images, backprops),
                "b": functools.partial(op.grad, 1, costs, images, backprops),
            }
            assert_on_stream(device, work)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for CorrelationCost and its gradients."""
    yield "CorrelationCost streams", _streams
    for dtype in FLOATING:
        for problem in _PROBLEMS:
            name = f"CorrelationCost {dtype.name} {dataclasses.astuple(problem)}"
            check = functools.partial(_check, problem=problem, dtype=dtype)
            for offset in (0, 1):  # whole packs of channels, and single ones
                yield (f"{name}, offset {offset}", functools.partial(check, offset=offset))


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than `beyond` elements of the images, and of costs."""
    for name, problem in (
        ("images", CorrelationCostProblem((3, 4, 5, 64), 1, 1, 1, 1, 1)),
        ("costs", CorrelationCostProblem((3, 4, 5, 2), 1, 4, 1, 1, 4)),
    ):
        size = math.prod(problem.images if name == "images" else problem.costs)
        check = functools.partial(
            _check, problem=problem, dtype=HALF, copies=copies_beyond(beyond, size), offset=0
        )
        yield f"CorrelationCost half of {name}", check


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """FlowNetC's layer, [N, 48, 64, 256]: it computes more than it moves."""
    for dtype in FLOATING:
        image_bytes = 48 * 64 * 256 * dtype.storage.itemsize
        images = max(1, min(8, size // (4 * image_bytes)))
        problem = CorrelationCostProblem((images, 48, 64, 256), 1, 20, 1, 2, 20)
        with device.memory():
            op = CorrelationCost(device, dtype, problem)
            a = random_buffer(device, dtype, math.prod(problem.images))
            b = random_buffer(device, dtype, math.prod(problem.images))
            costs = device.empty(problem.costs, dtype.storage)
            forward = functools.partial(op.forward, a, b, costs)
            forward()
            total = a.size + b.size + costs.size
            name = f"{dtype.name}, N = {images}"
            yield Row("CorrelationCost", name, total, forward)
            for argument in range(2):
                work = functools.partial(op.grad, argument, costs, a, b)
                kind = f"CorrelationCost{'AB'[argument]}Grad"
                yield Row(kind, name, total, work)
