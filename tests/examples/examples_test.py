"""Every example runs, for a few steps, and draws its picture."""

import pathlib

import commands
import pytest
from sampling import of_commit

_EXAMPLES = pathlib.Path(__file__).absolute().parents[2] / "examples"
_OPTIONS = {
    "detector": ["--steps", "3"],
    "domain_adaptation": ["--steps", "3"],
    "pruning": ["--epochs", "1"],
}


# Each commit runs one, the release check all.
@pytest.mark.parametrize("name", of_commit("examples", [*_OPTIONS]))
def test_runs(name: str, tmp_path: pathlib.Path) -> None:
    program, picture = _EXAMPLES / name / f"{name}.py", tmp_path / "picture.png"
    environment = commands.environment(DRAWS="1")
    commands.python(program, *_OPTIONS[name], "--picture", picture, env=environment)
    assert picture.stat().st_size > 10_000
