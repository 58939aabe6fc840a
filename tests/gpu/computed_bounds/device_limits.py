# SPDX-License-Identifier: Apache-2.0
"""What an H100 can do at most, and what a kernel's code takes of it.

From NVIDIA's H100 data sheet and its H100 architecture white paper (H100 SXM5): memory,
multiprocessors, clock. From the CUDA C++ Programming Guide, "Throughput of Native
Arithmetic Instructions" and "Technical Specifications per Compute Capability", 9.0: the
rates of the pipes, registers, shared memory, threads.
"""

import dataclasses

MEMORY_BYTES_PER_SECOND = 3.35e12
MULTIPROCESSORS = 132
CLOCK = 1.755e9  # the boost clock of the SXM5 module
SECTOR = 32  # bytes
_SCHEDULERS = 4  # each issues an instruction of a warp in a clock
_CACHE_BYTES = 128  # of the first-level cache, in a clock of a multiprocessor
_WARP = 32

# Threads in a clock of a multiprocessor, by class of instruction (machine_code.py).
# Integer multiplications go through the pipe of float, at half its rate. Conversions
# count as special functions: those from and to 64 bits do, others may be faster.
_PER_CLOCK = {
    "float": 128,
    "multiply": 64,
    "integer": 64,
    "double": 64,
    "special": 16,
    "exchange": 32,
}
_PIPES = {
    "float": ("float", "multiply"),
    "integer": ("integer",),
    "double": ("double",),
    "special": ("special",),
    "exchange": ("exchange",),
}

_THREADS = 2048  # resident in a multiprocessor
_BLOCKS = 32
_REGISTERS = 65536
_REGISTERS_AT_ONCE = 256  # that a warp gets
_SHARED = 228 << 10
_SHARED_OF_BLOCK = 1 << 10  # that a block takes beside its own


def resident_threads(registers: int, shared: int, threads: int) -> int:
    """How many threads a multiprocessor holds at once.

    Args:
      registers: Of a thread.
      shared: Bytes of a block, with what it takes beside its own.
      threads: Of a block.
    """
    warps = -(-threads // _WARP)
    of_warp = -(-registers * _WARP // _REGISTERS_AT_ONCE) * _REGISTERS_AT_ONCE
    blocks = min(
        _BLOCKS,
        _THREADS // threads,
        _REGISTERS // (of_warp * warps),
        _SHARED // max(shared, _SHARED_OF_BLOCK),
    )
    return blocks * threads


@dataclasses.dataclass
class Demand:
    """What a launch wants of the multiprocessors: instructions of warps by class, and
    sectors of the cache."""

    kinds: dict[str, float]
    sectors: float

    def seconds(self) -> dict[str, float]:
        """How long each part of the multiprocessors has to work, at least."""
        clocks = {
            pipe: sum(self.kinds.get(kind, 0) * _WARP / _PER_CLOCK[kind] for kind in kinds)
            for pipe, kinds in _PIPES.items()
        }
        clocks["issue"] = sum(self.kinds.values()) / _SCHEDULERS
        clocks["cache"] = self.sectors * SECTOR / _CACHE_BYTES
        return {k: n / MULTIPROCESSORS / CLOCK for k, n in clocks.items()}
