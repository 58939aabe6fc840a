"""The kernels' numeric types, as NumPy sees them.

bfloat16 is implemented here, so NumPy is the only requirement.
"""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class NumericType:
    """A type of kernels/numeric.h.

    Attributes:
      name: TensorFlow's name.
      code: The value of `enum class NumericType`.
      storage: The type of the values in memory; bfloat16 as its bits.
      compute: The type that kernels compute in.
      roundoff: Half the distance from 1 to the next value; 0 for integers.
      tiniest: The smallest positive value.
    """

    name: str
    code: int
    storage: np.dtype
    compute: np.dtype
    roundoff: float
    tiniest: float

    @property
    def is_floating(self) -> bool:
        """True if kernels round to this type."""
        return self.roundoff > 0

    @property
    def epsilon(self) -> float:
        """The distance from 1 to the next value of the compute type."""
        return float(np.finfo(self.compute).eps)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Rounds values to this type; values that are too large become infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.name != "bfloat16":
                return np.asarray(values).astype(self.storage)
            bits = np.asarray(values, np.float32).view(np.uint32)
            even = bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))
            quiet = bits | np.uint32(0x400000)
            return (np.where(np.isnan(values), quiet, even) >> 16).astype(np.uint16)

    def decode(self, stored: np.ndarray) -> np.ndarray:
        """The values of an array from `encode` or a kernel: float64, or integers."""
        if not self.is_floating:
            return stored
        if self.name == "bfloat16":
            stored = (stored.astype(np.uint32) << 16).view(np.float32)
        return stored.astype(np.float64)

    def round(self, values: np.ndarray) -> np.ndarray:
        """The nearest values of this type, as float64 or integers."""
        return self.decode(self.encode(values))


def _type(
    name: str, code: int, storage: type, compute: type, digits: int, smallest: int
) -> NumericType:
    roundoff = 2.0**-digits if digits else 0.0
    types = np.dtype(storage), np.dtype(compute)
    return NumericType(name, code, *types, roundoff, 2.0**smallest)


HALF = _type("half", 0, np.float16, np.float32, 11, -24)
BFLOAT16 = _type("bfloat16", 1, np.uint16, np.float32, 8, -133)
FLOAT = _type("float", 2, np.float32, np.float32, 24, -149)
DOUBLE = _type("double", 3, np.float64, np.float64, 53, -1074)
INT32 = _type("int32", 4, np.int32, np.int32, 0, 0)
INT64 = _type("int64", 5, np.int64, np.int64, 0, 0)

FLOATING = (HALF, BFLOAT16, FLOAT, DOUBLE)
NUMERIC = (*FLOATING, INT32, INT64)
