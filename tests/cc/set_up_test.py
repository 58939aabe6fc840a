"""The commands of docs/cpp.md build its first program."""

import os
import pathlib
import re
import shutil
import sys

import commands

_ROOT = pathlib.Path(__file__).absolute().parents[2]


def test_the_commands_of_the_page(tmp_path: pathlib.Path) -> None:
    page = (_ROOT / "docs" / "cpp.md").read_text()
    found = re.search(r"## Set-up\n.*?```text\n(.*?)```", page, re.DOTALL)
    assert found is not None
    shutil.copy(_ROOT / "bindings/cxx/examples/first_gradient.cc", tmp_path)
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    environment = commands.environment(PATH=path, TF_CPP_MIN_LOG_LEVEL="3")
    printed = commands.run("bash", "-eu", "-c", found[1], cwd=tmp_path, env=environment)
    assert printed.splitlines() == ["rois have no gradient", "pooled 4", "gradient 0 1 0 0"]
