"""The programs that need a GPU; skipped, with the reason, if there is none."""

import pathlib
import subprocess

import pytest
from check_program import EXIT_SKIPPED
from script_process import PYTHON

_HERE = pathlib.Path(__file__).absolute().parent


@pytest.mark.parametrize(
    "program",
    [["kernels_alone/run.py", "--no-times"], ["tensorflow_level.py"]],
    ids=["kernels_alone", "tensorflow_level"],
)
def test_on_gpu(program: list[str]) -> None:
    # One process each, because TensorFlow takes all of a GPU's memory.
    name, *options = program
    run = subprocess.run(
        [*PYTHON, _HERE / name, *options], stdout=subprocess.PIPE, text=True, check=False
    )
    if run.returncode == EXIT_SKIPPED:
        pytest.skip(run.stdout.strip().removeprefix("skipped: "))
    assert run.returncode == 0, run.stdout
