# SPDX-License-Identifier: Apache-2.0
"""What the table of times is made of."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
from checking import generator, random_values
from device import Buffer, Device
from numeric import NumericType


@dataclasses.dataclass
class Row:
    """One line of the table: work and the bytes that it has to move."""

    name: str
    dtype: str
    size: int
    work: Callable[[], None]


def random_buffer(device: Device, dtype: NumericType, count: int) -> Buffer:
    """`count` random values of a type."""
    return device.tile(_pattern(dtype, min(count, 1 << 20)), count)


@functools.cache
def _pattern(dtype: NumericType, count: int) -> np.ndarray:
    return random_values(generator("timing"), dtype, (count,))
