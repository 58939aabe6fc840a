"""The kernels' families: each module *_checks.py of this folder is one.

It has
  all_checks(): (name, check), without the checks of the launches' streams.
  large_checks(beyond): The same for tensors of more than `beyond` elements.
  rows(device, dtype, *problem): Its launches for one problem.
  SMALL: Problems that together launch every kernel.
  timed(size): (dtype, *problem) for the table of times, with tensors of `size` bytes.
"""

import functools
import importlib
import pathlib
from collections.abc import Iterator

from checking import Check
from device import Device
from rows import Row, check_streams

_HERE = pathlib.Path(__file__).absolute().parent
_FAMILIES = tuple(importlib.import_module(path.stem) for path in sorted(_HERE.glob("*_checks.py")))


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for every kernel."""
    for family in _FAMILIES:
        check = functools.partial(check_streams, rows=family.rows, problems=family.SMALL)
        yield f"{family.__name__.removesuffix('_checks')} streams", check
        yield from family.all_checks()


def large_checks(beyond: int = 2**31) -> Iterator[tuple[str, Check]]:
    """(name, check) for every kernel on tensors of more than `beyond` elements.

    Their values repeat with a period that divides no power of two, so an index that lost its upper
    bits is detected, and a reference of one period is enough. They may raise NoMemoryError.
    """
    for family in _FAMILIES:
        for name, check in family.large_checks(beyond):
            yield f"{name}, large", check


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """Every kernel's rows for tensors of `size` bytes, one at a time: its buffers are valid
    until the next row."""
    for family in _FAMILIES:
        for problem in family.timed(size):
            with device.memory():
                yield from family.rows(device, *problem)
