# SPDX-License-Identifier: Apache-2.0
"""The form of every source file: formatters, ruff, mypy, prose, the licence line."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import prose
import pytest

# Under Bazel this file is a link into the source tree.
ROOT = Path(__file__).resolve().parents[2]
CPP = {".c", ".cc", ".cuh", ".h"}
LICENSED = CPP | {".bzl", ".go", ".java", ".lds", ".py", ".rs", ".sh"}
MOST_LINES = 400
# Not for reading: pages that a program writes.
UNREAD = {"docs"}
LOCKED = {"Cargo.lock"}
# Written by programs, beside sources; git leaves it out, too.
WRITTEN = {"tensorflow_ext.rs"}
TYPED = ["python", "tools", "tests/models", "tests/stock_gradients"]


def _sources() -> list[Path]:
    """The files of the tree, without what tools put into it."""
    skipped = {".git", "__pycache__", "include", "lib", "out", "target"}
    found = []
    pending = [ROOT]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.name in skipped or path.name.startswith((".venv", "bazel-")):
                continue
            if path.is_dir() and not path.is_symlink():
                if not path.name.endswith("_cache"):
                    pending.append(path)
            elif path.is_file() and path.name not in WRITTEN:
                found.append(path)
    return found


def _run(tool: str, *arguments: str | Path) -> None:
    """Runs a tool of the interpreter's environment; its output is the failure."""
    command = [str(Path(sysconfig.get_path("scripts"), tool)), *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"{tool}:\n{done.stdout}{done.stderr}", pytrace=False)


def test_clang_format() -> None:
    files = [path for path in _sources() if path.suffix in CPP]
    _run("clang-format", "--dry-run", "-Werror", *files)


def test_ruff_check() -> None:
    _run("ruff", "check", "--no-cache", "--quiet", ".")


def test_ruff_format() -> None:
    _run("ruff", "format", "--no-cache", "--check", "--quiet", "--diff", ".")


def test_mypy(tmp_path: Path) -> None:
    _run("mypy", "--cache-dir", tmp_path, "--no-error-summary", *TYPED)


def test_prose() -> None:
    found = prose.check(path.relative_to(ROOT) for path in _sources())
    assert not found, "say it in plain English (tools/prose.py):\n" + "\n".join(found)


def test_rustfmt() -> None:
    # Where there is no Rust, nothing compiles what this would look at.
    rustfmt = os.environ.get("RUSTFMT") or shutil.which("rustfmt")
    for path in (path for path in _sources() if rustfmt and path.suffix == ".rs"):
        # From its input: a module that is generated does not lie beside the file.
        done = subprocess.run(
            [rustfmt, "--edition=2024"],
            input=path.read_text(encoding="utf-8"),
            capture_output=True,
            text=True,
        )
        same = done.stdout == path.read_text(encoding="utf-8")
        assert same, f"{path}: cargo fmt --all would change it\n{done.stderr}"


def test_length() -> None:
    long = []
    for path in _sources():
        name = path.relative_to(ROOT)
        if (
            name.name in LOCKED
            or name.parts[0] in UNREAD
            or b"\0" in (content := path.read_bytes())
        ):
            continue
        if (lines := content.count(b"\n")) > MOST_LINES:
            long.append(f"{name}: {lines} lines")
    assert not long, f"a file is to have at most {MOST_LINES} lines: find the seam"


def test_versions_of_tensorflow() -> None:
    """Whether code is for this TensorFlow or that one is asked in one header."""
    asked = re.compile(
        r"^[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b[^\n]*"
        r"(?:\bTF_\w*VERSION|TENSORFLOW_EXT_TENSORFLOW_MINOR"
        r"|__has_include\W+(?:tensorflow/|tsl/|xla/|absl/))",
        re.MULTILINE,
    )
    one = ROOT / "tensorflow_ext" / "compatibility.h"
    assert asked.search(one.read_text(encoding="utf-8"))
    asking = [
        str(path.relative_to(ROOT))
        for path in _sources()
        if path.suffix in CPP and path != one and asked.search(path.read_text(encoding="utf-8"))
    ]
    assert not asking, "what differs belongs into tensorflow_ext/compatibility.h"


def test_licence_line() -> None:
    missing = []
    for path in _sources():
        if path.suffix in LICENSED or path.name in {"BUILD", "WORKSPACE"}:
            with path.open(encoding="utf-8") as source:
                head = source.readline() + source.readline()
            if "SPDX-License-Identifier: Apache-2.0" not in head:
                missing.append(str(path.relative_to(ROOT)))
    assert not missing, "the first line is to name the licence"


# Where what differs between versions stands; all else asks these modules.
COMPATIBILITY = "_compatibility.py"
VERSIONED = {"keras", "np", "numpy", "tensorflow", "tf", "tf_keras"}


def _compared_versions(source: str) -> list[int]:
    """The lines where a version of TensorFlow or the like is compared.

    Messages may have it, and functions be given it.
    """
    tree = ast.parse(source)
    above = {n: node for node in ast.walk(tree) for n in ast.iter_child_nodes(node)}
    lines = []
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="__version__"):
                user = above[node]
                compared = getattr(user, "attr", "") == "startswith"
                while isinstance(user, ast.Attribute | ast.Subscript | ast.Call):
                    user = above[user]
                if name in VERSIONED and (compared or isinstance(user, ast.Compare)):
                    lines.append(node.lineno)
    return lines


def test_versions_are_compared_in_one_place() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in _sources()
        if path.suffix == ".py" and path.name != COMPATIBILITY
        for line in _compared_versions(path.read_text(encoding="utf-8"))
    ]
    assert not found, f"ask {COMPATIBILITY}, or whether the thing is there"


def test_compared_versions_are_found() -> None:
    for source in (
        "if tf.__version__ < '2.19': pass",
        "old = Version(tf.__version__) < Version('2.19')",
        "old = tf.__version__.startswith('2.18.')",
        "old = keras.__version__.split('.')[:2] == ['3', '12']",
    ):
        assert _compared_versions(source) == [1], source
    for source in (
        "f'TensorFlow {tf.__version__}'",
        "check(path, tf.__version__)",
        "minor = '.'.join(tf.__version__.split('.')[:2])",
    ):
        assert not _compared_versions(source), source


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
