# SPDX-License-Identifier: Apache-2.0
"""The form of every source file: clang-format, ruff, mypy, the licence line."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

# Under Bazel this file is a link into the source tree.
ROOT = Path(__file__).resolve().parents[2]
CPP = {".c", ".cc", ".cuh", ".h"}
LICENSED = CPP | {".bzl", ".go", ".lds", ".py", ".sh"}
MOST_LINES = 400
# Not for reading: locked versions, and pages that a program writes.
UNREAD = {"requirements", "docs"}
TYPED = ["python", "tools", "tests/models", "tests/stock_gradients"]


def _sources() -> list[Path]:
    """The files of the tree, without what tools put into it."""
    skipped = {".git", ".venv", "__pycache__", "out"}
    found = []
    pending = [ROOT]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.name in skipped or path.name.startswith((".venv.", "bazel-")):
                continue
            if path.is_dir() and not path.is_symlink():
                if not path.name.endswith("_cache"):
                    pending.append(path)
            elif path.is_file():
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


def test_length() -> None:
    long = []
    for path in _sources():
        name = path.relative_to(ROOT)
        if name.parts[0] in UNREAD or b"\0" in (content := path.read_bytes()):
            continue
        if (lines := content.count(b"\n")) > MOST_LINES:
            long.append(f"{name}: {lines} lines")
    assert not long, f"a file is to have at most {MOST_LINES} lines: find the seam"


def test_licence_line() -> None:
    missing = []
    for path in _sources():
        if path.suffix in LICENSED or path.name in {"BUILD", "WORKSPACE"}:
            with path.open(encoding="utf-8") as source:
                head = source.readline() + source.readline()
            if "SPDX-License-Identifier: Apache-2.0" not in head:
                missing.append(str(path.relative_to(ROOT)))
    assert not missing, "the first line is to name the licence"


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
