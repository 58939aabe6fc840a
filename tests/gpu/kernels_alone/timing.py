"""Times every kernel against a copy within the device, as a Markdown table.

A kernel with little arithmetic cannot be faster than memory, so its bytes per second are compared
with those of cudaMemcpyAsync over as many bytes. A kernel's bytes are those of its tensors, each
read or written once; a copy's bytes are read and written. Rounds of copy, kernel and, if requested,
PyTorch alternate; medians count.
alternate; medians count.
"""

import functools
import math
import statistics
import time
from collections.abc import Callable

import families
import numpy as np
from device import Device
from rivals import PyTorch
from rows import Row

_ROUNDS = 15
# Launches between two events, so the events cost nothing; fewer of slow kernels.
_REPEATS = 10
_ROUND_MS = 10.0


# The time of work that is repeated this many times.
_Clock = Callable[[int], float]


def _repeats(clock: _Clock) -> int:
    """Launches between two events; the work has then run."""
    clock(1)  # warm
    return max(1, min(_REPEATS, int(_ROUND_MS / clock(1))))


def _measure(device: Device, row: Row, rival: _Clock | None) -> list[float]:
    """Milliseconds of the kernel, of a copy that moves as many bytes, and of the kernel's
    counterpart, if there is one."""
    half = row.size // 2
    with device.memory():
        source, target = (device.empty(half, np.uint8) for _ in range(2))
        copy = functools.partial(device.copy_async, target.address, source.address, half)
        clocks = [functools.partial(device.milliseconds, w) for w in (row.work, copy)]
        if rival is not None:
            clocks.append(rival)
        repeats = [_repeats(clock) for clock in clocks]
        times: list[list[float]] = [[] for _ in clocks]
        for _ in range(_ROUNDS):
            for clock, count, taken in zip(clocks, repeats, times, strict=True):
                taken.append(clock(count))
    return [statistics.median(taken) for taken in times]


def print_table(
    device: Device,
    size: int,
    only: str = "",
    deadline: float = math.inf,
    pytorch: PyTorch | None = None,
) -> None:
    """Prints a line for each kernel and type.

    Args:
      device: The device that they run on.
      size: Bytes of a tensor, which must exceed the caches.
      only: Rows whose name contains this.
      deadline: The end, by time.monotonic().
      pytorch: PyTorch's counterparts, timed with the kernels.
    """
    more = " PyTorch, ms | of PyTorch's |" if pytorch else ""
    print(f"\n| kernel | type | MB moved | ms | GB/s | of a copy's |{more}")
    print("|---" * (6 + 2 * bool(pytorch)) + "|")
    for row in families.timing_rows(device, size):
        if only not in row.name:
            continue
        if time.monotonic() > deadline:
            print(f"\nNo time for {row.name} and what follows it.", flush=True)
            return
        work = pytorch.work(row.name, row.dtype, size) if pytorch else None
        rival = functools.partial(pytorch.milliseconds, work) if pytorch and work else None
        milliseconds, copied, *others = _measure(device, row, rival)
        beside = "".join(f" {ms:.3f} | {milliseconds / ms:.2f} |" for ms in others)
        if pytorch and not others:
            beside = " | |"
        print(
            f"| {row.name} | {row.dtype} | {row.size / 1e6:.0f} "
            f"| {milliseconds:.3f} | {row.size / milliseconds / 1e6:.0f} "
            f"| {copied / milliseconds:.2f} |{beside}",
            flush=True,
        )
