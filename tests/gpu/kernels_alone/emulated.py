"""The checks on the emulator, which replaces the GPU."""

import functools
import pathlib
import re

import families
from commit_sampling import turn_of_commit

LIBRARY = pathlib.Path(__file__).absolute().parent / "libkernels_emulated.so"
CHECKS = dict(families.all_checks())
BEYOND = 2**19  # elements of a tensor that is large for the emulator
LARGE = dict(families.large_checks(BEYOND))
_TYPE = re.compile(r" (half|bfloat16|float|double|u?int\d+)\b")


def _folder(name: str) -> str:
    """The folder of a check's kernels; that of all ops for the pointwise ones."""
    check = CHECKS[name]
    function = check.func if isinstance(check, functools.partial) else check
    family = function.__module__.removesuffix("_checks")
    return "/ops/" if family == "pointwise" else f"/ops/{family}/"


def of_commit(test: str) -> list[str]:
    """The checks that a commit runs: every kernel and size in one type, by turns; in all types
    if it changes the kernel."""
    types: dict[str, list[str]] = {}
    for name in CHECKS:
        types.setdefault(_TYPE.sub("", name), []).append(name)
    return [
        name
        for problem, names in types.items()
        for name in turn_of_commit(test + problem, names, _folder(names[0]))
    ]
