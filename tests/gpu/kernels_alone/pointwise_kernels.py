# SPDX-License-Identifier: Apache-2.0
"""The launchers of pointwise_launchers.cc, with buffers for arguments, and what the
elementwise and broadcasting kernels compute in NumPy and float64."""

import ctypes
import dataclasses
from collections.abc import Callable, Iterator, Sequence

import activations
import numpy as np
from arguments import address, addresses, array
from device import Buffer, Device
from numeric import FLOATING, NUMERIC, NumericType

Function = Callable[..., np.ndarray]


def elementwise(
    device: Device,
    name: str,
    attributes: Sequence[float],
    dtype: NumericType,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
) -> None:
    """Launches GpuElementwise of the functor `name` over the whole outputs."""
    device.call(
        "Kernel_Elementwise",
        name.encode(),
        array(ctypes.c_float, attributes),
        ctypes.c_int32(dtype.code),
        addresses(inputs),
        addresses(outputs),
        ctypes.c_int64(outputs[0].count),
        device.stream,
    )


def broadcast(
    device: Device,
    name: str,
    dtype: NumericType,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    shapes: Sequence[tuple[int, ...]],
) -> None:
    """Launches GpuBroadcast of the functor `name`; the last shape is the outputs'."""
    sizes = [size for shape in shapes for size in shape]
    device.call(
        "Kernel_Broadcast",
        name.encode(),
        ctypes.c_int32(dtype.code),
        array(ctypes.c_int32, [len(shape) for shape in shapes]),
        array(ctypes.c_int64, sizes),
        addresses(inputs),
        addresses(outputs),
        device.stream,
    )


def zero_out(device: Device, values: Buffer, output: Buffer) -> None:
    """Launches LaunchZeroOut for one element that is kept."""
    device.call(
        "Kernel_ZeroOut",
        address(values),
        address(output),
        ctypes.c_int64(min(output.size, output.dtype.itemsize)),
        ctypes.c_int64(output.size),
        device.stream,
    )


def clear(device: Device, output: Buffer) -> None:
    """Launches LaunchClear."""
    device.call("Kernel_Clear", address(output), ctypes.c_int64(output.size), device.stream)


@dataclasses.dataclass(frozen=True)
class PointwiseKernel:
    """An elementwise or broadcasting kernel.

    Attributes:
      name: The functor, or one of the two of a Choice.
      arity: Its number of arguments.
      function: The same on arrays of float64, or of an integer type; several
        outputs are stacked along a first axis.
      attributes: The functor's members.
      roundoffs: How far results may be apart, in roundoffs of the type.
      types: What its op admits.
      extremes: Whether arguments may be as large and as small as can be.
      outputs: Its number of results.
      functor: What is launched, if that is another one: the Choice.
      slack: How far results may be apart besides, in roundoffs of the type times
        this function of the arguments: where sums cancel.
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
    slack: Function | None = None

    @property
    def launched(self) -> str:
        """The name by which the launchers know it."""
        return self.functor or self.name

    def expected(self, dtype: NumericType, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """The result for inputs that are values of a type, rounded to it."""
        with np.errstate(all="ignore"):
            return dtype.round(self.function(*inputs))

    def allowance(self, dtype: NumericType, inputs: Sequence[np.ndarray]) -> np.ndarray | float:
        """`slack` for these inputs."""
        if self.slack is None:
            return 0
        with np.errstate(all="ignore"):
            slack = self.slack(*inputs)
        return np.where(np.isnan(slack), 0, dtype.roundoff * slack)


_MIN, _MAX, _CLIP = -0.5, 1.25, 0.75
_FACTOR = float(np.float32(-1.7))

_BOUNDS = (_MIN, _MAX)
# What elementary functions and the products with them come to.
_ACCURATE = 24


def _kept(x: np.ndarray) -> np.ndarray:
    return ~((x >= _MIN) & (x <= _MAX))


def _tail_slack(function: Function) -> Function:
    """Roundoffs of the exponent in the tails, and below float's normal numbers."""

    def slack(x: np.ndarray) -> np.ndarray:
        value = np.nan_to_num(np.abs(function(x)), posinf=0)
        return 4 * np.minimum(x * x, 1e4) * value + 1e-29

    return slack


# Of the two formulas of a Choice, the Choice and its member.
_CHOICES = {"GeluTanh": ("Gelu", 1.0), "GeluExact": ("Gelu", 0.0)}


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
            # The slope is a sum whose terms may cancel. Infinity times a slope
            # is NaN where that is too small for float.
            slack=lambda dy, x: 8 * np.abs(dy),
        )


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
    PointwiseKernel("ShrinkGrad", 2, lambda dy, x: np.where(_kept(x), dy, 0), _BOUNDS),
    # silu(gate) overflows in float where float64 has room.
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
)

BROADCAST = (
    PointwiseKernel("FloorMod", 2, np.mod, roundoffs=2, types=NUMERIC),
    # x / y of extremes overflows in float where float64 has room.
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
        # Both are sums, and move with the roundoff of f x.
        slack=lambda dy, x, f: np.abs(
            dy * (8 + 4 * np.abs(f * x)) * np.stack(np.broadcast_arrays(1, x * x + 0 * f))
        ),
    ),
)
