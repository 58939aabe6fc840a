"""Every example runs, for a few steps, and draws its picture."""

import pathlib
import subprocess
import sys

import pytest

_EXAMPLES = pathlib.Path(__file__).absolute().parents[2] / "examples"


@pytest.mark.parametrize(
    ("program", "options"),
    [
        ("detector/detector.py", ["--steps", "3"]),
        ("domain_adaptation/domain_adaptation.py", ["--steps", "3"]),
        ("pruning/pruning.py", ["--epochs", "1"]),
    ],
    ids=["detector", "domain_adaptation", "pruning"],
)
def test_runs(program: str, options: list[str], tmp_path: pathlib.Path) -> None:
    picture = tmp_path / "picture.png"
    command = [sys.executable, _EXAMPLES / program, *options, "--picture", picture]
    subprocess.run(command, check=True)
    assert picture.stat().st_size > 10_000
