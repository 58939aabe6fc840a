"""The memory of a program does not grow while it trains with tapes for a long time."""

import os
import pathlib
import re

import commands
import pytest

_PROGRAM = pathlib.Path(os.environ["TAPE_STEPS_PROGRAM"]).absolute()

# TAPE_STEPS=10000 takes a minute.
_MANY = int(os.environ.get("TAPE_STEPS", "0"))


def _kilobytes(threads: int, steps: int, *op: str) -> list[int]:
    """The memory of the process after each tenth of the steps."""
    said = commands.run(_PROGRAM, threads, steps, *op)
    return [int(size) for size in re.findall(r"steps: (\d+) KiB", said)][1:]


@pytest.mark.parametrize(("threads", "context"), [(1, ""), (4, ""), (2, "asynchronous")])
def test_memory_stays(threads: int, context: str) -> None:
    """A step that kept one of its tensors would keep 8 KiB."""
    sizes = _kilobytes(threads, _MANY or 600, *context.split())
    assert max(sizes[2:]) < sizes[1] + 1000, sizes


def test_attributes_that_change() -> None:
    """A plan, 2 KiB, is kept for each attribute, and all are dropped after 1,000."""
    sizes = _kilobytes(1, max(_MANY, 4000), "LeakyRelu")
    assert max(sizes[5:]) < max(sizes[:5]) + 2000, sizes
