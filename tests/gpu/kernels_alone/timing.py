# SPDX-License-Identifier: Apache-2.0
"""Times every kernel against a copy within the device, as a Markdown table.

A kernel that does little arithmetic can be no faster than memory: its bytes per
second are compared with those of cudaMemcpyAsync over as many. The bytes of a
kernel are those of its tensors, each read or written once; those of a copy are
read and written. Rounds of copy and kernel alternate; medians count.
"""

import functools
import math
import statistics
import time
from collections.abc import Callable

import families
import numpy as np
from device import Device
from rows import Row

_ROUNDS = 15
# Launches between two events, so that these cost nothing; fewer of slow kernels.
_REPEATS = 10
_ROUND_MS = 10.0


def _repeats(device: Device, work: Callable[[], None]) -> int:
    """Launches between two events; the work has then run."""
    device.milliseconds(work, 1)  # warm
    return max(1, min(_REPEATS, int(_ROUND_MS / device.milliseconds(work, 1))))


def _measure(device: Device, row: Row) -> tuple[float, float]:
    """Milliseconds of the kernel and of a copy that moves as many bytes."""
    half = row.size // 2
    with device.memory():
        source, target = (device.empty(half, np.uint8) for _ in range(2))
        copy = functools.partial(
            device.copy_async, target.address, source.address, half
        )
        works: list[Callable[[], None]] = [row.work, copy]
        repeats = [_repeats(device, work) for work in works]
        times: list[list[float]] = [[], []]
        for _ in range(_ROUNDS):
            for work, count, taken in zip(works, repeats, times, strict=True):
                taken.append(device.milliseconds(work, count))
    kernel, copied = map(statistics.median, times)
    return kernel, copied


def print_table(
    device: Device, size: int, only: str = "", deadline: float = math.inf
) -> None:
    """Prints a line for each kernel and type.

    Args:
      device: What they run on.
      size: Bytes of a tensor; more than the caches hold.
      only: Rows whose name contains this.
      deadline: When to end it, by time.monotonic().
    """
    print("\n| kernel | type | MB moved | ms | GB/s | of a copy's |")
    print("|---|---|---|---|---|---|")
    for row in families.timing_rows(device, size):
        if only not in row.name:
            continue
        if time.monotonic() > deadline:
            print(f"\nNo time for {row.name} and what follows it.", flush=True)
            return
        milliseconds, copied = _measure(device, row)
        print(
            f"| {row.name} | {row.dtype} | {row.size / 1e6:.0f} "
            f"| {milliseconds:.3f} | {row.size / milliseconds / 1e6:.0f} "
            f"| {copied / milliseconds:.2f} |",
            flush=True,
        )
