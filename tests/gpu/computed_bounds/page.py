# SPDX-License-Identifier: Apache-2.0
"""The page of the computed bounds, docs/gpu_bounds.md."""

import dataclasses
import pathlib
from collections.abc import Iterator

import device_limits
from device_limits import Demand
from machine_code import CLASS_NAMES, Kernel
from traffic import KINDS, Launch

_TEXT = pathlib.Path(__file__).absolute().with_name("gpu_bounds.md.in")

_SHORT = {
    "memory": "mem",
    "float": "fp",
    "double": "fp64",
    "multiply": "imad",
    "special": "special",
    "exchange": "exch",
    "control": "branch",
    "uniform": "uniform",
    "integer": "int",
}
_ENOUGH = 0.995  # of memory's speed: rounds to 1.00


@dataclasses.dataclass
class Compiled:
    """A kernel's machine code and what it takes."""

    kernel: Kernel
    registers: int
    shared: int


@dataclasses.dataclass
class Part:
    """One launch of an op: what it wants, at least and at most."""

    launch: Launch
    compiled: Compiled
    fewest: Demand
    most: Demand


@dataclasses.dataclass
class Row:
    """An op: the bytes that it has to move and its launches."""

    name: str
    type: str
    size: int
    parts: list[Part]

    @property
    def memory(self) -> float:
        """Seconds."""
        return self.size / device_limits.MEMORY_BYTES_PER_SECOND

    @property
    def code(self) -> float:
        """Seconds of the launches, one after the other, by the fewest instructions."""
        return sum(max(p.fewest.seconds().values()) for p in self.parts)

    @property
    def most(self) -> float:
        """The same by the most."""
        return sum(max(p.most.seconds().values()) for p in self.parts)

    @property
    def bound(self) -> float:
        """Seconds."""
        return max(self.memory, self.code)

    @property
    def share(self) -> float:
        """Of memory's speed that the bound allows."""
        return self.memory / self.bound

    @property
    def binds(self) -> str:
        """What the bound is made of: of the code, the part of the longest launch."""
        if self.memory >= self.code:
            return "memory"
        longest = max(self.parts, key=lambda p: max(p.fewest.seconds().values()))
        seconds = longest.fewest.seconds()
        return max(seconds, key=lambda part: seconds[part])

    def cells(self) -> list[str]:
        itemsize = {"half": 2, "float": 4}[self.type.split(",")[0]]
        issued = sum(sum(p.fewest.kinds.values()) for p in self.parts) * 32
        sectors = sum(p.fewest.sectors for p in self.parts)
        return [
            self.name,
            self.type,
            f"{self.size / 1e6:.1f}",
            f"{issued / (self.size / itemsize):.1f}",
            *(f"{1e6 * t:.1f}" for t in (self.memory, self.code, self.most)),
            self.binds,
            f"{self.share:.2f}",
            f"{sectors * device_limits.SECTOR / self.size:.2f}",
        ]


def _kernel_cells(part: Part) -> list[str]:
    kernel, launch = part.compiled.kernel, part.launch
    around = str(kernel.around().instructions)
    loop = accesses = classes = "none"
    if kernel.hot_loop is not None:
        once, most = kernel.once(), kernel.once(longest=True)
        loop = f"{once.instructions} to {most.instructions}, {around} around"
        accesses = f"{once.accesses}, {once.bytes} bytes"
        classes = ", ".join(
            f"{once.kinds[kind]} {_SHORT[kind]}" for kind in CLASS_NAMES if once.kinds[kind]
        )
    threads = device_limits.resident_threads(
        part.compiled.registers, part.compiled.shared, launch.threads
    )
    sectors = []
    for kind in KINDS:
        traffic = launch.traffic[kind]
        if traffic.requests:
            best = traffic.bytes / device_limits.SECTOR / traffic.requests
            found = traffic.sectors / traffic.requests
            sectors.append(f"{found:.1f} ({best:.1f})")
        else:
            sectors.append("")
    return [
        f"`{launch.kernel}`",
        str(part.compiled.registers),
        str(part.compiled.shared),
        str(threads),
        loop,
        accesses,
        classes,
        *sectors,
    ]


def _lines(cells: Iterator[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _below(rows: list[Row]) -> str:
    """Which rows memory does not bind, in words."""
    below = sorted((r for r in rows if r.share < _ENOUGH), key=lambda r: r.share)
    if not below:
        return f"Memory binds all of the {len(rows)} rows."
    named = ", ".join(f"{r.name} ({r.type}) {r.share:.2f}" for r in below)
    return (
        f"Memory binds {len(rows) - len(below)} of the {len(rows)} rows. "
        f"The others, the furthest from it first: {named}."
    )


def _instructions_at_memorys_speed(itemsize: int) -> float:
    """How many instructions of a thread there is time for while a number moves."""
    issued = Demand({"control": 1.0 / 32}, 0).seconds()["issue"]
    return itemsize / device_limits.MEMORY_BYTES_PER_SECOND / issued


def page(rows: list[Row], megabytes: int, nvcc: str) -> str:
    """The page's text.

    Args:
      rows: The lines of the table of ops.
      megabytes: How large a tensor is.
      nvcc: The version of the compiler.
    """
    seen: dict[str, Part] = {}
    for row in rows:
        for part in row.parts:
            seen.setdefault(part.launch.kernel, part)
    return _TEXT.read_text(encoding="utf-8").format(
        below=_below(rows),
        clock=device_limits.CLOCK / 1e9,
        kernels=_lines(_kernel_cells(seen[name]) for name in sorted(seen)),
        megabytes=megabytes,
        nvcc=nvcc,
        of_float=_instructions_at_memorys_speed(4),
        of_half=_instructions_at_memorys_speed(2),
        memory=device_limits.MEMORY_BYTES_PER_SECOND / 1e12,
        processors=device_limits.MULTIPROCESSORS,
        rows=_lines(row.cells() for row in rows),
    )
