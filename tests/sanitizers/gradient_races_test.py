"""Threads that differentiate separate graphs, with gradient/ built with
ThreadSanitizer."""

import os
import pathlib
import subprocess

import rounds_graphs
import sanitized_process

_LIBRARY = pathlib.Path(os.environ["GRADIENT_LIBRARY"]).absolute()
_ROUNDS = pathlib.Path(os.environ["ROUNDS"]).absolute()


def _run(folder: pathlib.Path, rounds: int, *graphs: str) -> subprocess.CompletedProcess[str]:
    files = rounds_graphs.write(folder, graphs)
    return sanitized_process.run("thread", _ROUNDS, _LIBRARY, 8, rounds, *files)


def test_no_gradient_races(tmp_path: pathlib.Path) -> None:
    run = _run(tmp_path, 10, "call", "changing_call", "changing_attributes")
    assert run.returncode == 0, run.stdout[-8000:]
    assert "10 rounds" in run.stdout


def test_a_race_is_found(tmp_path: pathlib.Path) -> None:
    run = _run(tmp_path, 100, "deep_copy")
    assert run.returncode != 0
    assert "data race" in run.stdout
    assert "CountingGradient" in run.stdout
