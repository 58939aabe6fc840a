"""The memory of a C client does not grow while it differentiates for a long time."""

import os
import pathlib
import re

import commands
import pytest
import rounds_graphs

from tensorflow_ext._runtime import _library

_ROUNDS = pathlib.Path(os.environ["ROUNDS"]).absolute()


def _kilobytes(folder: pathlib.Path, rounds: int, graph: str) -> list[int]:
    """The memory of the process after each tenth of the rounds."""
    (file,) = rounds_graphs.write(folder, [graph])
    said = commands.run(_ROUNDS, _library.PATH, 1, rounds, file)
    return [int(size) for size in re.findall(r"rounds: (\d+) KiB", said)][1:]


# MEMORY_ROUNDS=10000 takes ten minutes.
_MANY = int(os.environ.get("MEMORY_ROUNDS", "0"))


@pytest.mark.parametrize(("graph", "rounds"), [("ours", _MANY or 600), ("call", _MANY or 400)])
def test_graphs_that_stay_the_same(tmp_path: pathlib.Path, graph: str, rounds: int) -> None:
    sizes = _kilobytes(tmp_path, rounds, graph)
    assert max(sizes[5:]) < max(sizes[:5]) + 300, sizes


@pytest.mark.parametrize("graph", ["changing_call", "changing_attributes"])
def test_graphs_that_change(tmp_path: pathlib.Path, graph: str) -> None:
    """The library keeps at least 1,400 KiB for 100 graphs, and drops it after 512."""
    sizes = _kilobytes(tmp_path, 1000, graph)
    assert max(sizes[:6]) > sizes[0] + 4000, sizes
    assert max(sizes[6:]) < max(sizes[:6]) + 2000, sizes
