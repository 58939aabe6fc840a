"""The commands of docs/cpp.md build its first program."""

import os
import pathlib
import re
import shutil
import sys

import commands
from commit_sampling import by_turns

_ROOT = pathlib.Path(__file__).absolute().parents[2]
_PAGE = (_ROOT / "docs" / "cpp.md").read_text()


def _run(folder: pathlib.Path, change: str = "") -> str:
    """The output of the page's commands, or of the commands in front of g++ and a change of it."""
    found = re.search(r"## Set-up\n.*?```text\n(.*?)```", _PAGE, re.DOTALL)
    assert found is not None
    commands_of_page = found[1]
    if change:
        commands_of_page = commands_of_page.partition(" -o ")[0].replace("g++", change)
    shutil.copy(_ROOT / "bindings/cxx/examples/first_gradient.cc", folder)
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    environment = commands.environment(PATH=path, TF_CPP_MIN_LOG_LEVEL="3")
    return commands.run("bash", "-eu", "-c", commands_of_page, cwd=folder, env=environment)


def test_files_of_the_page(tmp_path: pathlib.Path) -> None:
    """The preprocessor finds the sources and all headers."""
    assert "AddSymbolicGradients" in _run(tmp_path, "g++ -E")


@by_turns(4, "docs/cpp.md", "ext/cc/", "first_gradient.cc", "/sysconfig.py", "codegen/config")
def test_the_commands_of_the_page(tmp_path: pathlib.Path) -> None:
    printed = _run(tmp_path)
    assert printed.splitlines() == ["rois have no gradient", "pooled 4", "gradient 0 1 0 0"]
