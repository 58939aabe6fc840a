# SPDX-License-Identifier: Apache-2.0
"""Arguments of launchers."""

import ctypes
from collections.abc import Sequence
from typing import Any

from device import Buffer, Device
from numeric import NumericType


def address(buffer: Buffer | None) -> ctypes.c_void_p:
    """A launcher's pointer; null for None."""
    return ctypes.c_void_p(None if buffer is None else buffer.address)


def array(kind: Any, values: Sequence[Any]) -> Any:
    """Values as a C array of a ctypes type."""
    return (kind * len(values))(*values)


def addresses(buffers: Sequence[Buffer]) -> Any:
    """A launcher's array of pointers."""
    return array(ctypes.c_void_p, [buffer.address for buffer in buffers])


def float_sums(device: Device, dtype: NumericType, shape: Sequence[int]) -> Buffer | None:
    """What a launcher adds up in whose output, of this shape and type, is too short
    for it; None where the output serves."""
    if dtype.storage == dtype.compute:
        return None
    return device.empty(shape, dtype.compute)
