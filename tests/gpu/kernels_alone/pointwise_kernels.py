# SPDX-License-Identifier: Apache-2.0
"""The elementwise and broadcasting kernels: how to launch them (pointwise_launchers.cc),
and their results in NumPy and float64.

The kernels of an op are derived from the reference in its module (op_definitions.py). Those of the
families of many ops are here.
"""

import dataclasses
import functools
import pathlib
import struct
import sys
from collections.abc import Callable, Iterator, Sequence

import activations
import numpy as np
from device import Buffer, Device
from numeric import FLOATING, NUMERIC, NumericType

# If this folder was copied alone, the file is in it.
sys.path.append(str(pathlib.Path(__file__).absolute().parent / "../../clients/python"))
import op_definitions

Function = Callable[..., np.ndarray]


@dataclasses.dataclass(frozen=True)
class PointwiseKernel:
    """An elementwise or broadcasting kernel.

    Attributes:
      name: The op, or one of the two functors of a Choice.
      arity: The number of arguments.
      function: The same on arrays of float64, or of an integer type; several outputs are stacked
        along a first axis.
      attributes: The functor's members.
      roundoffs: The allowed distance between results, in roundoffs of the type.
      types: The types that its op admits.
      extremes: True if arguments may have extreme magnitudes.
      outputs: The number of results.
      functor: The op, if its name differs: that of the Choice.
      member: The type of all attributes, or of each, for struct.pack.
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
        name = f"TfExt>{self.functor or self.name}".encode()
        if any(self.name == kernel.name for kernel in BROADCAST):
            shapes = [buffer.shape for buffer in (*inputs, outputs[0])]
            ranks = [len(shape) for shape in shapes]
            lists = (struct.pack(f"{len(x)}q", *x) for x in (ranks, sum(shapes, ())))
            device.launch("Broadcast", name, dtype, *lists, inputs, outputs)
        else:
            kinds = self.member * len(self.attributes) if len(self.member) == 1 else self.member
            members = struct.pack(kinds, *self.attributes)
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


_ELEMENTWISE = (
    PointwiseKernel("Clip", 1, lambda x: np.clip(x, _MIN, _MAX), (_MIN, _MAX)),
    PointwiseKernel(
        "ClipGrad", 2, lambda dy, x: np.where((x >= _MIN) & (x <= _MAX), dy, 0), (_MIN, _MAX)
    ),
    PointwiseKernel("Relu", 1, lambda x: np.where(x <= 0, 0, x)),
    PointwiseKernel("ReluGrad", 2, lambda dy, x: np.where(x > 0, dy, 0)),
    PointwiseKernel("RoundStraightThrough", 1, np.rint),
    # Two roundings for the 16-bit types: to float, and to them.
    PointwiseKernel("Scale", 1, lambda x: _FACTOR * x, (_FACTOR,), roundoffs=2),
    PointwiseKernel("SignStraightThrough", 1, np.sign),
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


def _derived(broadcasts: bool) -> Iterator[PointwiseKernel]:
    """The ops whose modules have a reference."""
    for op, one in op_definitions.definitions().items():
        if one.broadcasts != broadcasts:
            continue
        slack = one.facts.get("slack")

        def function(*inputs: np.ndarray, one: op_definitions.Definition = one) -> np.ndarray:
            result = one.reference(np, *inputs)
            return np.stack(result) if isinstance(result, tuple) else result

        is_one = not isinstance(one.reference(np, *np.ones((len(one.inputs), 1))), tuple)
        yield PointwiseKernel(
            op,
            len(one.inputs),
            function,
            tuple(one.attributes.values()),
            roundoffs=one.facts.get("roundoffs", 0),
            types=NUMERIC if one.facts.get("integers") else FLOATING,
            extremes=one.facts.get("extremes", True),
            outputs=1 if is_one else 2,
            member="".join("?" if isinstance(v, bool) else "f" for v in one.attributes.values()),
            slack=slack and functools.partial(slack, np, **one.attributes),
        )


ELEMENTWISE = (*_ELEMENTWISE, *_derived(broadcasts=False))
BROADCAST = tuple(_derived(broadcasts=True))


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
        """Launches LaunchZeroOutWhole."""
        device.launch("Clear", outputs[0], outputs[0].size)


ZERO_OUT = (
    _ZeroOut("ZeroOut", 1, lambda x: np.where(np.arange(x.size) == 0, x, 0), types=NUMERIC),
    _Clear("Clear", 1, np.zeros_like, types=NUMERIC),
)
