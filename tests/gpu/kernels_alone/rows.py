# SPDX-License-Identifier: Apache-2.0
"""What the table of times is made of."""

import dataclasses
from collections.abc import Callable

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
    pattern = random_values(generator("timing"), dtype, (min(count, 1 << 20),))
    return device.tile(pattern, count)
