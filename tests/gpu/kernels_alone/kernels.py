# SPDX-License-Identifier: Apache-2.0
"""The launchers of pointwise_launchers.cc, with buffers for arguments."""

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
    output: Buffer,
    shapes: Sequence[tuple[int, ...]],
) -> None:
    """Launches GpuBroadcast of the functor `name`; the last shape is the output's."""
    sizes = [size for shape in shapes for size in shape]
    device.call(
        "Kernel_Broadcast",
        name.encode(),
        ctypes.c_int32(dtype.code),
        array(ctypes.c_int32, [len(shape) for shape in shapes]),
        array(ctypes.c_int64, sizes),
        addresses(inputs),
        address(output),
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
    device.call(
        "Kernel_Clear", address(output), ctypes.c_int64(output.size), device.stream
    )
