# SPDX-License-Identifier: Apache-2.0
"""A C client that differentiates for a long time needs no more memory for it.

By hand, with 10,000 rounds, and with "-" for what TensorFlow does alone:

    .venv/bin/python tests/threads/rounds_graphs.py FOLDER
    bazel-bin/tests/threads/rounds LIBRARY 1 10000 FOLDER/ours
"""

import os
import pathlib
import re
import subprocess

import pytest
import rounds_graphs

from tensorflow_ext import _library

_ROUNDS = pathlib.Path(os.environ["ROUNDS"]).absolute()


def _kilobytes(folder: pathlib.Path, rounds: int, graph: str) -> list[int]:
    """What the process holds after each tenth of the rounds."""
    (file,) = rounds_graphs.write(folder, [graph])
    run = subprocess.run(
        [_ROUNDS, _library.PATH, "1", str(rounds), file],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:]
    return [int(size) for size in re.findall(r"rounds: (\d+) KiB", run.stdout)][1:]


# MEMORY_ROUNDS=10000 takes ten minutes.
_MANY = int(os.environ.get("MEMORY_ROUNDS", "0"))


@pytest.mark.parametrize(("graph", "rounds"), [("ours", _MANY or 600), ("call", _MANY or 400)])
def test_graphs_that_stay_the_same(tmp_path: pathlib.Path, graph: str, rounds: int) -> None:
    sizes = _kilobytes(tmp_path, rounds, graph)
    assert max(sizes[5:]) < max(sizes[:5]) + 300, sizes


@pytest.mark.parametrize("graph", ["changing_call", "changing_attributes"])
def test_graphs_that_change(tmp_path: pathlib.Path, graph: str) -> None:
    """What is kept of 100 graphs, 1,400 KiB and more, is dropped after 512."""
    sizes = _kilobytes(tmp_path, 1000, graph)
    assert max(sizes[:6]) > sizes[0] + 4000, sizes
    assert max(sizes[6:]) < max(sizes[:6]) + 2000, sizes
