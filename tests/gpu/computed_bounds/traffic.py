# SPDX-License-Identifier: Apache-2.0
"""What launches ask of global memory, as the emulator counts it (counting.h)."""

import bisect
import ctypes
import dataclasses
import pathlib
import re
import subprocess
from collections.abc import Callable, Iterable

KINDS = ("read", "write", "add")


_COUNTS = ("requests", "sectors", "bytes")


class _Traffic(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in _COUNTS]


class _Launch(ctypes.Structure):
    _fields_ = [
        *((n, ctypes.c_uint64) for n in ("blocks", "blocks_run", "threads")),
        ("traffic", _Traffic * len(KINDS)),
        ("function_count", ctypes.c_uint64),
        ("functions", ctypes.c_uint64 * 16),
    ]


@dataclasses.dataclass
class Traffic:
    """Of all blocks of a launch, from those that have run."""

    requests: float
    sectors: float
    bytes: float


@dataclasses.dataclass
class Launch:
    """A launch of a kernel."""

    kernel: str
    blocks: int
    threads: int  # of a block
    traffic: dict[str, Traffic]  # by KINDS

    @property
    def warps(self) -> int:
        return self.blocks * -(-self.threads // 32)


def kernel_name(function: str) -> str | None:
    """What a kernel is called for people, by its demangled name; None: it is none."""
    text = re.sub(r"\(anonymous namespace\)::|tensorflow_ext::|internal::", "", function)
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0:
            text = text[:position]
            break
    text = re.sub(r"\((\w+)\)(\d)", r"\1 \2", text.removeprefix("void "))
    return text.replace(" >", ">") if re.fullmatch(r"\w+Kernel(<.*>)?", text) else None


def demangled(names: Iterable[str]) -> list[str]:
    """Names of functions as they stand in sources."""
    return subprocess.run(
        ["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()


class Counter:
    """Counts on the emulator."""

    def __init__(self, library: pathlib.Path) -> None:
        """Takes libkernels_counted.so, which may be in use by a Device."""
        self._library = ctypes.CDLL(str(library))
        self._library.Emulator_Origin.restype = ctypes.c_void_p
        self._library.Emulator_StopCounting.restype = ctypes.c_int64
        self._origin: int = self._library.Emulator_Origin()
        listed = subprocess.run(
            ["nm", "--numeric-sort", "--defined-only", str(library)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        symbols = [line.split() for line in listed.splitlines()]
        functions = [(int(s[0], 16), s[2]) for s in symbols if s[1] in "tTwW"]
        self._addresses = [address for address, _ in functions]
        self._names = [name for _, name in functions]

    def count(self, work: Callable[[], None], most_blocks: int) -> list[Launch]:
        """The launches of some work, of which at most so many blocks run each: its
        results are wrong."""
        self._library.Emulator_StartCounting(ctypes.c_int64(most_blocks))
        launches = ctypes.POINTER(_Launch)()
        try:
            work()
        finally:
            number = self._library.Emulator_StopCounting(ctypes.byref(launches))
        return [self._launch(launches[k]) for k in range(number)]

    def _launch(self, counted: _Launch) -> Launch:
        share = counted.blocks / counted.blocks_run
        return Launch(
            self._kernel(tuple(counted.functions[: counted.function_count])),
            counted.blocks,
            counted.threads,
            {
                kind: Traffic(*(getattr(t, name) * share for name in _COUNTS))
                for kind, t in zip(KINDS, counted.traffic, strict=True)
            },
        )

    def _kernel(self, functions: tuple[int, ...]) -> str:
        places = [bisect.bisect_right(self._addresses, f - self._origin) - 1 for f in functions]
        names = map(kernel_name, demangled(self._names[p] for p in places))
        return next(name for name in names if name is not None)
