# SPDX-License-Identifier: Apache-2.0
"""The elementwise and broadcasting kernels: how to launch them (pointwise_launchers.cc),
and their results in NumPy and float64."""

import dataclasses
import struct
from collections.abc import Callable, Iterator, Sequence

import activations
import numpy as np
from device import Buffer, Device
from numeric import FLOATING, NUMERIC, NumericType

Function = Callable[..., np.ndarray]


@dataclasses.dataclass(frozen=True)
class PointwiseKernel:
    """An elementwise or broadcasting kernel.

    Attributes:
      name: The functor, or one of the two of a Choice.
      arity: The number of arguments.
      function: The same on arrays of float64, or of an integer type; several outputs are stacked
        along a first axis.
      attributes: The functor's members, all of one type.
      roundoffs: The allowed distance between results, in roundoffs of the type.
      types: The types that its op admits.
      extremes: True if arguments may have extreme magnitudes.
      outputs: The number of results.
      functor: The functor, if its name differs: the Choice.
      member: The type of the attributes, for struct.pack.
      slack: An additional allowed distance, in roundoffs of the type times this function of the
        arguments, for sums that cancel.
    """

    name: str
    arity: int
    function: Function
    attributes: tuple[float, ...] = ()
    roundoffs: float = 0
    types: tuple[NumericType, ...] = FLOATING
    extremes: bool = True
    outputs: int = 1
    functor: str = ""
    member: str = "f"
    slack: Function | None = None

    @property
    def title(self) -> str:
        """The name, with the attributes, which is unique."""
        return " ".join(map(str, (self.name, *self.attributes)))

    def launch(
        self, device: Device, dtype: NumericType, inputs: list[Buffer], outputs: list[Buffer]
    ) -> None:
        """Launches it over whole tensors."""
        name = (self.functor or self.name).encode()
        if any(self.name == kernel.name for kernel in BROADCAST):
            shapes = [buffer.shape for buffer in (*inputs, outputs[0])]
            ranks = [len(shape) for shape in shapes]
            lists = (struct.pack(f"{len(x)}q", *x) for x in (ranks, sum(shapes, ())))
            device.launch("Broadcast", name, dtype, *lists, inputs, outputs)
        else:
            members = struct.pack(self.member * len(self.attributes), *self.attributes)
            size = outputs[0].count
            device.launch("Elementwise", name, members, dtype, inputs, outputs, size)

    def expected(self, dtype: NumericType, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """The result for inputs that are values of a type, rounded to it."""
        with np.errstate(all="ignore"):
            return dtype.round(self.function(*inputs))

    def limits(
        self, dtype: NumericType, inputs: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, float, np.ndarray]:
        """The expected result, and its allowed distance: arguments of `assert_close`."""
        expected, slack = self.expected(dtype, inputs), np.array(0.0)
        if self.slack is not None:
            with np.errstate(all="ignore"):
                slack = dtype.roundoff * self.slack(*inputs)
        slack = np.where(np.isnan(slack), 0, slack)
        return expected, self.roundoffs, np.broadcast_to(slack, expected.shape)


_MIN, _MAX, _CLIP = -0.5, 1.25, 0.75
_FACTOR = float(np.float32(-1.7))

_BOUNDS = (_MIN, _MAX)
# The error of elementary functions and of products with them.
_ACCURATE = 24


def _kept(x: np.ndarray) -> np.ndarray:
    return ~((x >= _MIN) & (x <= _MAX))


def _tail_slack(function: Function) -> Function:
    """Roundoffs of the exponent in the tails, and below float's normal numbers."""

    def slack(x: np.ndarray) -> np.ndarray:
        value = np.nan_to_num(np.abs(function(x)), posinf=0)
        return 4 * np.minimum(x * x, 1e4) * value + 1e-29

    return slack


# The Choice and its member, for each of its two formulas.
_CHOICES = {"GeluTanh": ("Gelu", True), "GeluExact": ("Gelu", False)}


def _activations() -> Iterator[PointwiseKernel]:
    for name, (function, slope) in activations.FUNCTIONS.items():
        functor, *members = _CHOICES.get(name, (name,))
        yield PointwiseKernel(
            name,
            1,
            function,
            tuple(members),
            roundoffs=_ACCURATE,
            functor=functor,
            member="?",
            slack=_tail_slack(function),
        )
        yield PointwiseKernel(
            f"{name}Grad",
            2,
            lambda dy, x, slope=slope: dy * slope(x),
            tuple(members),
            roundoffs=_ACCURATE,
            extremes=False,  # products near the largest number
            functor=f"{functor}Grad",
            member="?",
            # The slope is a sum whose terms may cancel. Infinity times a slope is NaN if the slope
            # is too small for float.
            slack=lambda dy, x: 8 * np.abs(dy),
        )


def _pruned(threshold: float) -> Iterator[PointwiseKernel]:
    def prune(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.where(np.abs(weights) < threshold, 0, values)  # NaN is kept

    attributes = (threshold,)
    yield PointwiseKernel("PruneByMagnitude", 1, lambda x: prune(x, x), attributes, member="d")
    yield PointwiseKernel("PruneByMagnitudeGrad", 2, prune, attributes, member="d")


ELEMENTWISE = (
    PointwiseKernel("Clip", 1, lambda x: np.clip(x, _MIN, _MAX), (_MIN, _MAX)),
    PointwiseKernel(
        "ClipGrad", 2, lambda dy, x: np.where((x >= _MIN) & (x <= _MAX), dy, 0), (_MIN, _MAX)
    ),
    PointwiseKernel("Relu", 1, lambda x: np.where(x <= 0, 0, x)),
    PointwiseKernel("ReluGrad", 2, lambda dy, x: np.where(x > 0, dy, 0)),
    PointwiseKernel("Round", 1, np.rint),
    # Two roundings for the 16-bit types: to float, and to them.
    PointwiseKernel("Scale", 1, lambda x: _FACTOR * x, (_FACTOR,), roundoffs=2),
    PointwiseKernel("Sign", 1, np.sign),
    PointwiseKernel(
        "SignStraightThroughGrad", 2, lambda dy, x: np.where(np.abs(x) <= _CLIP, dy, 0), (_CLIP,)
    ),
    PointwiseKernel("Hardshrink", 1, lambda x: np.where(_kept(x), x, 0), _BOUNDS),
    PointwiseKernel(
        "Softshrink",
        1,
        lambda x: np.where(_kept(x), x - np.where(x > _MAX, _MAX, _MIN), 0),
        _BOUNDS,
        roundoffs=2,
    ),
    *(
        PointwiseKernel(name, 2, lambda dy, x: np.where(_kept(x), dy, 0), _BOUNDS)
        for name in ("HardshrinkGrad", "SoftshrinkGrad")
    ),
    # silu(gate) overflows in float, but not in float64.
    PointwiseKernel(
        "SwiGlu",
        2,
        lambda gate, value: activations.silu(gate) * value,
        roundoffs=_ACCURATE,
        extremes=False,
    ),
    PointwiseKernel(
        "SwiGluGrad",
        3,
        lambda dy, gate, value: np.stack(
            [dy * value * activations.silu_slope(gate), dy * activations.silu(gate)]
        ),
        roundoffs=_ACCURATE,
        extremes=False,
        outputs=2,
        slack=lambda dy, gate, value: 8 * np.abs(dy * value),
    ),
    *_activations(),
    *_pruned(0.75),
    *_pruned(-1.0),
    *_pruned(np.inf),
)

BROADCAST = (
    PointwiseKernel("FloorMod", 2, np.mod, roundoffs=2, types=NUMERIC),
    # x / y of extremes overflows in float, but not in float64.
    PointwiseKernel(
        "FloorModGrad", 3, lambda dy, x, y: -np.floor_divide(x, y) * dy, roundoffs=4, extremes=False
    ),
    PointwiseKernel("MultiplyLeft", 2, np.multiply, roundoffs=2),
    PointwiseKernel("Snake", 2, activations.snake, roundoffs=_ACCURATE),
    PointwiseKernel(
        "SnakeGrad",
        3,
        lambda dy, x, f: dy * np.stack(activations.snake_slopes(x, f)),
        roundoffs=_ACCURATE,
        extremes=False,
        outputs=2,
        # Both are sums, and change with the roundoff of f x.
        slack=lambda dy, x, f: np.abs(
            dy * (8 + 4 * np.abs(f * x)) * np.stack(np.broadcast_arrays(1, x * x + 0 * f))
        ),
    ),
)


class _ZeroOut(PointwiseKernel):
    """One element is kept."""

    def launch(
        self, device: Device, dtype: NumericType, inputs: list[Buffer], outputs: list[Buffer]
    ) -> None:
        """Launches LaunchZeroOut."""
        size = outputs[0].size
        kept = min(size, outputs[0].dtype.itemsize)
        device.launch("ZeroOut", inputs[0], outputs[0], kept, size)


class _Clear(PointwiseKernel):
    """No element is kept."""

    def launch(
        self, device: Device, dtype: NumericType, inputs: list[Buffer], outputs: list[Buffer]
    ) -> None:
        """Launches LaunchClear."""
        device.launch("Clear", outputs[0], outputs[0].size)


ZERO_OUT = (
    _ZeroOut("ZeroOut", 1, lambda x: np.where(np.arange(x.size) == 0, x, 0), types=NUMERIC),
    _Clear("Clear", 1, np.zeros_like, types=NUMERIC),
)
