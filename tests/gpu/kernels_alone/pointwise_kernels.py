"""The elementwise and broadcasting kernels: how to launch them (pointwise_launchers.cc),
and their results in NumPy and float64.

Most are derived from the reference in the op's module (op_definitions.py).
"""

import dataclasses
import functools
import pathlib
import struct
import sys
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from device import Buffer, Device
from numeric import FLOATING, NUMERIC, NumericType

# If this folder was copied alone, the files are in it.
sys.path.append(str(pathlib.Path(__file__).absolute().parent / "../../clients/python"))
import op_definitions

Function = Callable[..., np.ndarray]


@dataclasses.dataclass(frozen=True)
class PointwiseKernel:
    """An elementwise or broadcasting kernel.

    Attributes:
      name: The op.
      arity: The number of arguments.
      function: The same on arrays of float64, or of an integer type; several outputs are stacked
        along a first axis.
      attributes: The functor's members.
      roundoffs: The allowed distance between results, in roundoffs of the type.
      types: The types that its op admits.
      extremes: True if arguments may have extreme magnitudes.
      outputs: The number of results.
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
        name = f"TfExt>{self.name}".encode()
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


def _pruned(threshold: float) -> Iterator[PointwiseKernel]:
    def prune(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.where(np.abs(weights) < threshold, 0, values)  # NaN is kept

    attributes = (threshold,)
    yield PointwiseKernel("PruneByMagnitude", 1, lambda x: prune(x, x), attributes, member="d")
    yield PointwiseKernel("PruneByMagnitudeGrad", 2, prune, attributes, member="d")


def _derived(broadcasts: bool) -> Iterator[PointwiseKernel]:
    """The ops whose modules have a reference."""
    for first in op_definitions.definitions().values():
        for one in [first, *first.variants()] if first.broadcasts == broadcasts else []:
            slack = one.facts.get("slack")

            def function(*inputs: np.ndarray, one: op_definitions.Definition = one) -> np.ndarray:
                result = one.reference(np, *inputs)
                return np.stack(result) if isinstance(result, tuple) else result

            with np.errstate(all="ignore"):
                result = one.reference(np, *np.ones((len(one.inputs), 1)))
            yield PointwiseKernel(
                one.op,
                len(one.inputs),
                function,
                tuple(one.attributes.values()),
                roundoffs=one.facts.get("roundoffs", 0),
                types=NUMERIC if one.facts.get("integers") else FLOATING,
                extremes=one.facts.get("extremes", True),
                outputs=len(result) if isinstance(result, tuple) else 1,
                member="".join(
                    "?" if isinstance(v, bool) else "f" for v in one.attributes.values()
                ),
                slack=slack and functools.partial(slack, np, **one.attributes),
            )


ELEMENTWISE = (*_derived(broadcasts=False), *_pruned(0.75), *_pruned(-1.0), *_pruned(np.inf))
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
