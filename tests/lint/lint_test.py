"""The form of every source file: formatters, ruff, mypy, prose, the licence line."""

import ast
import os
import re
import shutil
import sysconfig
from collections.abc import Collection, Iterable
from pathlib import Path

import commands
import prose
import pytest

# Under Bazel this file is a link into the source tree.
ROOT = Path(__file__).resolve().parents[2]
CPP = {".c", ".cc", ".cuh", ".h"}
MOST_LINES = 400
# Pages that a program writes are not checked.
UNREAD = {"docs"}
LOCKED = {"Cargo.lock"}
# Programs write these beside sources; git ignores them, too.
WRITTEN = {"tensorflow_ext.rs", "train.rs"}
# The last two are modules that tests/stock_gradients imports.
TYPED = [
    *("python", "tools", "tests/models", "tests/stock_gradients"),
    *("tests/tape/eager_client.py", "tests/tape/eager_graph.py"),
]


def _sources(suffixes: Collection[str] | None = None) -> list[Path]:
    """The files of the tree without generated ones; all of them, or only some suffixes."""
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
    return [path for path in found if suffixes is None or path.suffix in suffixes]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _names(paths: Iterable[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def _run(tool: str, *arguments: str | Path) -> None:
    """Runs a tool of the interpreter's environment."""
    commands.run(Path(sysconfig.get_path("scripts"), tool), *arguments, cwd=ROOT)


def test_clang_format() -> None:
    _run("clang-format", "--dry-run", "-Werror", *_sources(CPP))


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
    # Without Rust, nothing compiles these files.
    rustfmt = os.environ.get("RUSTFMT") or shutil.which("rustfmt")
    for path in _sources({".rs"}) if rustfmt else []:
        # rustfmt reads its input, because a generated module is not beside the file.
        text = _text(path)
        formatted = commands.run(rustfmt, "--edition=2024", input=text)
        assert formatted == text, f"{path}: cargo fmt --all would change it"


def test_length() -> None:
    lines = {}
    for path in _sources():
        content = path.read_bytes()
        if path.name not in LOCKED and b"\0" not in content:
            lines[path.relative_to(ROOT)] = content.count(b"\n")
    long = {
        n: count for n, count in lines.items() if count > MOST_LINES and n.parts[0] not in UNREAD
    }
    assert not long, f"a file must have at most {MOST_LINES} lines: find the seam"


def test_versions_of_tensorflow() -> None:
    """Only one header checks the version of TensorFlow."""
    asked = re.compile(
        r"^[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b[^\n]*"
        r"(?:\bTF_\w*VERSION|TENSORFLOW_EXT_TENSORFLOW_MINOR"
        r"|__has_include\W+(?:tensorflow/|tsl/|xla/|absl/))",
        re.MULTILINE,
    )
    one = ROOT / "tensorflow_ext" / "base" / "compatibility.h"
    asking = [path for path in _sources(CPP) if asked.search(_text(path))]
    assert asking == [one], f"what differs belongs into {one.name}: {_names(asking)}"


# Modules that contain the differences between versions; all other code asks them.
COMPATIBILITY = "_compatibility.py"
VERSIONED = {"keras", "np", "numpy", "tensorflow", "tf", "tf_keras"}


def _compared_versions(source: str) -> list[int]:
    """The lines that compare a version of TensorFlow or of a similar package.

    Messages may contain a version, and functions may take one.
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
        for path in _sources({".py"})
        if path.name != COMPATIBILITY
        for line in _compared_versions(_text(path))
    ]
    assert not found, f"ask {COMPATIBILITY}, or whether the thing is there"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("if tf.__version__ < '2.19': pass", [1]),
        ("old = Version(tf.__version__) < Version('2.19')", [1]),
        ("old = tf.__version__.startswith('2.18.')", [1]),
        ("old = keras.__version__.split('.')[:2] == ['3', '12']", [1]),
        ("f'TensorFlow {tf.__version__}'", []),
        ("check(path, tf.__version__)", []),
        ("minor = '.'.join(tf.__version__.split('.')[:2])", []),
    ],
)
def test_compared_versions_are_found(source: str, lines: list[int]) -> None:
    assert _compared_versions(source) == lines
