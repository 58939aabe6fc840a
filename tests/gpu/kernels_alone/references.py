# SPDX-License-Identifier: Apache-2.0
"""What each kernel computes, in NumPy and float64."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numeric import FLOATING, NUMERIC, NumericType

Function = Callable[..., np.ndarray]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """An elementwise or broadcasting kernel.

    Attributes:
      name: The functor.
      arity: Its number of arguments.
      function: The same on arrays of float64, or of an integer type.
      attributes: The functor's members.
      roundoffs: How far results may be apart, in roundoffs of the type.
      types: What its op admits.
      extremes: Whether arguments may be as large and as small as can be.
    """

    name: str
    arity: int
    function: Function
    attributes: tuple[float, ...] = ()
    roundoffs: float = 0
    types: tuple[NumericType, ...] = FLOATING
    extremes: bool = True

    def expected(self, dtype: NumericType, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """The result for inputs that are values of a type, rounded to it."""
        with np.errstate(all="ignore"):
            return dtype.round(self.function(*inputs))


_MIN, _MAX, _CLIP = -0.5, 1.25, 0.75
_FACTOR = float(np.float32(-1.7))

ELEMENTWISE = (
    Kernel("Clip", 1, lambda x: np.clip(x, _MIN, _MAX), (_MIN, _MAX)),
    Kernel(
        "ClipGrad",
        2,
        lambda dy, x: np.where((x >= _MIN) & (x <= _MAX), dy, 0),
        (_MIN, _MAX),
    ),
    Kernel("Relu", 1, lambda x: np.where(x <= 0, 0, x)),
    Kernel("ReluGrad", 2, lambda dy, x: np.where(x > 0, dy, 0)),
    Kernel("Round", 1, np.rint),
    # Two roundings for the 16-bit types: to float, and to them.
    Kernel("Scale", 1, lambda x: _FACTOR * x, (_FACTOR,), roundoffs=2),
    Kernel("Sign", 1, np.sign),
    Kernel(
        "SignStraightThroughGrad",
        2,
        lambda dy, x: np.where(np.abs(x) <= _CLIP, dy, 0),
        (_CLIP,),
    ),
)

BROADCAST = (
    Kernel("FloorMod", 2, np.mod, roundoffs=2, types=NUMERIC),
    # x / y of extremes overflows in float where float64 has room.
    Kernel(
        "FloorModGrad",
        3,
        lambda dy, x, y: -np.floor_divide(x, y) * dy,
        roundoffs=4,
        extremes=False,
    ),
    Kernel("MultiplyLeft", 2, np.multiply, roundoffs=2),
)
