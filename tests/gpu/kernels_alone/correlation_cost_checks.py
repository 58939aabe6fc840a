"""CorrelationCost's kernels against NumPy in float64."""

import dataclasses
import functools
import itertools
import math
import struct
from collections.abc import Iterator

import numpy as np
from checking import Check, assert_repeats, copies_beyond, generator, random_values
from device import Device
from numeric import FLOATING, HALF, NumericType
from rows import Row, random_buffer


@dataclasses.dataclass(frozen=True)
class _Problem:
    """Shapes of one call: images [N, H, W, C] and the attributes."""

    images: tuple[int, int, int, int]
    kernel_size: int
    max_displacement: int
    stride_1: int
    stride_2: int
    pad: int

    @property
    def displacements(self) -> int:
        """D: the number of displacements along one axis."""
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
        """The rows and columns that all windows cover together."""
        _, height, width, _ = self.costs
        return (
            (height - 1) * self.stride_1 + self.kernel_size,
            (width - 1) * self.stride_1 + self.kernel_size,
        )

    @property
    def dims(self) -> bytes:
        """The members of CorrelationCostDims."""
        attributes = self.kernel_size, self.max_displacement, self.stride_1, self.stride_2, self.pad
        return struct.pack("12q", *self.images, *self.costs[1:3], self.displacements, *attributes)


def _padded(images: np.ndarray, problem: _Problem) -> np.ndarray:
    edge = (problem.pad, problem.pad)
    return np.pad(images, ((0, 0), edge, edge, (0, 0)))


def _pairs(problem: _Problem) -> Iterator[tuple[int, tuple, tuple]]:
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


def _windows(problem: _Problem) -> Iterator[tuple]:
    """The pixel of every window, for each position in a window."""
    _, height, width, _ = problem.costs
    step = problem.stride_1
    for i, j in np.ndindex(problem.kernel_size, problem.kernel_size):
        yield np.s_[:, i : i + height * step : step, j : j + width * step : step]


def _correlation_cost(a: np.ndarray, b: np.ndarray, problem: _Problem) -> np.ndarray:
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


def _correlation_cost_grad(
    gradients: np.ndarray, a: np.ndarray, b: np.ndarray, problem: _Problem
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
    _Problem((1, 1, 1, 1), 1, 0, 1, 1, 0),
    _Problem((2, 7, 9, 16), 1, 4, 1, 1, 4),
    _Problem((1, 5, 6, 8), 1, 2, 1, 1, 2),
    _Problem((1, 7, 9, 20), 1, 4, 1, 2, 4),
    _Problem((1, 6, 11, 260), 1, 3, 1, 1, 3),  # more packs than a warp has threads
    _Problem((1, 3, 4, 48), 1, 1, 1, 1, 1),
    _Problem((1, 3, 4, 272), 1, 1, 1, 1, 1),  # also of 16-bit types
    _Problem((2, 9, 8, 5), 3, 2, 1, 1, 3),
    _Problem((1, 9, 8, 5), 3, 2, 2, 1, 5),
    _Problem((1, 12, 13, 3), 1, 3, 3, 2, 4),  # pixels in no window
    _Problem((1, 12, 13, 33), 3, 2, 4, 1, 2),
    _Problem((1, 3, 4, 17), 5, 4, 1, 3, 8),  # windows outside the image
    _Problem((1, 5, 40, 16), 1, 20, 1, 2, 20),
    _Problem((0, 4, 4, 2), 1, 1, 1, 1, 1),
    _Problem((2, 0, 4, 2), 1, 1, 1, 1, 2),
    _Problem((2, 4, 4, 0), 1, 1, 1, 1, 1),
)


def _check(
    device: Device, problem: _Problem, dtype: NumericType, offset: int, copies: int = 1
) -> None:
    """The images repeat `copies` times; addresses are `offset` elements off their
    alignment."""
    random = generator(problem, dtype.name)
    shapes = problem.images, problem.images, problem.costs
    stored = [random_values(random, dtype, shape) for shape in shapes]
    a, b, gradients = (dtype.decode(x) for x in stored)
    # A rounding for each term, then one of the type.
    terms = problem.kernel_size**2 * max(problem.images[3], problem.displacements**2)
    slack = 32 * math.sqrt(terms) * dtype.epsilon
    images = copies * problem.images[0], *problem.images[1:]
    dims = dataclasses.replace(problem, images=images).dims
    with device.memory():
        on_a, on_b, upstream = (device.repeat(x, copies, offset) for x in stored)
        costs = device.empty(upstream.shape, dtype.storage, offset)
        device.launch("CorrelationCost", dtype, dims, on_a, on_b, costs)
        expected = dtype.round(_correlation_cost(a, b, problem))
        assert_repeats("costs", device, dtype, costs, expected, 2, slack)

        expected_grads = _correlation_cost_grad(gradients, a, b, problem)
        for argument, other in enumerate((on_b, on_a)):
            backprops = device.empty(images, dtype.storage, offset)
            tensors = upstream, other, backprops
            device.launch("CorrelationCostGrad", dtype, dims, argument, *tensors)
            expected = dtype.round(expected_grads[argument])
            name = f"gradient of {'ab'[argument]}"
            assert_repeats(name, device, dtype, backprops, expected, 2, slack)


SMALL = [(_PROBLEMS[1],)]


def rows(device: Device, dtype: NumericType, problem: _Problem) -> Iterator[Row]:
    a, b = (random_buffer(device, dtype, problem.images) for _ in range(2))
    costs = device.empty(problem.costs, dtype.storage)
    total, name = a.size + b.size + costs.size, f"{dtype.name}, N = {problem.images[0]}"
    forward = functools.partial(device.launch, "CorrelationCost", dtype, problem.dims, a, b, costs)
    yield Row("CorrelationCost", name, total, forward)
    forward()
    for argument in range(2):
        arguments = dtype, problem.dims, argument, costs, a, b
        work = functools.partial(device.launch, "CorrelationCostGrad", *arguments)
        yield Row(f"CorrelationCost{'AB'[argument]}Grad", name, total, work)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for CorrelationCost and its gradients."""
    # Full packs of channels, and single ones.
    for dtype, problem, offset in itertools.product(FLOATING, _PROBLEMS, (0, 1)):
        name = f"CorrelationCost {dtype.name} {dataclasses.astuple(problem)}, offset {offset}"
        yield name, functools.partial(_check, problem=problem, dtype=dtype, offset=offset)


def large_checks(beyond: int) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than `beyond` elements of the images, and of costs."""
    of_images, of_costs = (
        _Problem((3, 4, 5, 64), 1, 1, 1, 1, 1),
        _Problem((3, 4, 5, 2), 1, 4, 1, 1, 4),
    )
    for name, problem, shape in (
        ("images", of_images, of_images.images),
        ("costs", of_costs, of_costs.costs),
    ):
        copies = copies_beyond(beyond, math.prod(shape))
        check = functools.partial(_check, problem=problem, dtype=HALF, copies=copies, offset=0)
        yield f"CorrelationCost half of {name}", check


def timed(size: int) -> Iterator[tuple]:
    """FlowNetC's layer, [N, 48, 64, 256], which is limited by arithmetic."""
    for dtype in FLOATING:
        image_bytes = 48 * 64 * 256 * dtype.storage.itemsize
        images = max(1, min(8, size // (4 * image_bytes)))
        yield dtype, _Problem((images, 48, 64, 256), 1, 20, 1, 2, 20)
