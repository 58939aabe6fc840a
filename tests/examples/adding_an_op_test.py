# SPDX-License-Identifier: Apache-2.0
"""docs/adding_an_op.md, applied to a copy of the tree, adds the op that it says."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

# Under Bazel this file is a link into the source tree.
_ROOT = pathlib.Path(__file__).resolve().parents[2]
_PAGE = _ROOT / "docs" / "adding_an_op.md"
_TARGETS = ["//tensorflow_ext:libtensorflow_ext.so", "//tests/clients/c:client"]
# `PATH`, WHERE `LINE`:  and then the code.
_PIECE = re.compile(
    r"^`(?P<path>[^`]+)`, (?P<where>a new file|as the last function|before|after)"
    r"(?: `(?P<line>[^`]+)`)?:\n\n```\w*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def _apply(page: str, tree: pathlib.Path) -> int:
    """Puts the page's pieces where it says; returns how many there are."""
    pieces = list(_PIECE.finditer(page))
    for piece in pieces:
        path, where, code = tree / piece["path"], piece["where"], piece["code"]
        if where == "a new file":
            assert not path.exists(), path
            path.write_text(code)
            continue
        lines = path.read_text().splitlines(keepends=True)
        at = len(lines)
        if where == "as the last function":
            code = f"\n\n{code}"
        else:
            # Before the last of equal lines, after the first.
            wanted = piece["line"] + "\n"
            found = [i for i, line in enumerate(lines) if line == wanted]
            assert found, f"{piece['path']} has no line {piece['line']!r}"
            at = found[-1] if where == "before" else found[0] + 1
        lines[at:at] = [code]
        path.write_text("".join(lines))
    return len(pieces)


def _run(tree: pathlib.Path, *command: str | pathlib.Path) -> str:
    python = str(tree / "python")
    done = subprocess.run(
        list(map(str, command)),
        cwd=tree,
        env={**os.environ, "PYTHONPATH": python, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """A copy of the tree with the op in it, built."""
    copy = tmp_path_factory.mktemp("adding") / "tree"
    ignored = shutil.ignore_patterns(".git", ".venv*", "bazel-*", "out", "__pycache__")
    shutil.copytree(_ROOT, copy, ignore=ignored)
    assert _apply(_PAGE.read_text(), copy) == 9
    # What ./run found out, and the cache of what is compiled, hold for the copy.
    bazel = [os.environ["BAZEL"], f"--output_user_root={copy.parent / 'bazel'}"]
    try:
        _run(copy, *bazel, "build", "--curses=no", *_TARGETS)
        built = copy / "bazel-bin" / "tensorflow_ext" / "libtensorflow_ext.so"
        shutil.copy(built, copy / "python" / "tensorflow_ext")
        yield copy
    finally:
        _run(copy, *bazel, "shutdown")


@pytest.mark.parametrize("client", ["eager", "jit_compile", "C"])
def test_clients_differentiate_it(client: str, tree: pathlib.Path) -> None:
    judge = tree / "tests" / "clients" / "python" / "judge.py"
    output = _run(tree, sys.executable, judge, f"--client={client}", "--case=Cube")
    cases = (tree / "tests" / "clients" / "cases" / "cube.cases").read_text()
    assert f"{cases.count('case ')} passed, 0 failed" in output


def test_python_function(tree: pathlib.Path) -> None:
    tests = tree / "tests" / "python"
    files = [tests / "every_op_test.py", tests / "vectorize_test.py"]
    pytest_options = ["-q", "-p", "no:cacheprovider", "-k", "cube"]
    output = _run(tree, sys.executable, "-m", "pytest", *pytest_options, *files)
    assert "passed" in output


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
