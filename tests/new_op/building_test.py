# SPDX-License-Identifier: Apache-2.0
"""new-op writes the ops of docs/adding_an_op.md into a copy of the tree. With the formula changed
as the page says, they build and pass, and are removed without a trace.
"""

import os
import pathlib
import re
import shutil
import sys
from collections.abc import Iterator

import commands
import pytest
import tensorflow as tf
from nested_bazel import nested_bazel
from new_op.__main__ import __doc__ as help_text
from new_op.__main__ import op_of, parser

# Under Bazel this file is a link into the source tree.
_ROOT = pathlib.Path(__file__).resolve().parents[2]
_PAGE = (_ROOT / "docs" / "adding_an_op.md").read_text()
# The page's ops that are built: one of each kind with kernels of its own kind.
_BUILT = ("softsign", "hypotenuse", "select_rows")
_KERNELS_ALONE = "tests/gpu/kernels_alone"
_TARGETS = [
    "//tensorflow_ext:libtensorflow_ext.so",
    "//tensorflow_ext/loader:libtensorflow_ext_loader.so",
    "//tests/clients/c:client",
    f"//{_KERNELS_ALONE}:libkernels_emulated.so",
]
_IMPORTED_FROM = ("python", "tools", "third_party/python")
_CHANGE = re.compile(r"^`([^`]+)`:\n\n```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IGNORED = (".git", ".venv*", ".bazelrc.user", "bazel-*", "out", "__pycache__", "*_cache", "*.so")


def _run(tree: pathlib.Path, *command: str | pathlib.Path) -> str:
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": ":".join(str(tree / folder) for folder in _IMPORTED_FROM),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    return commands.run(*command, cwd=tree, env=environment)


def _new_op(tree: pathlib.Path, *arguments: str) -> None:
    _run(tree, sys.executable, "-m", "new_op", *arguments)


def _commands(text: str) -> list[list[str]]:
    """The arguments of a text's commands, as bash passes them to a program."""
    lines = re.findall(r"^ +\./run new-op (.*)$", text, re.MULTILINE)
    return [commands.run("bash", "-c", f"printf '%s\\n' {line}").splitlines() for line in lines]


def _change_the_formula(tree: pathlib.Path) -> None:
    changes = _CHANGE.findall(_PAGE)
    assert len(changes) == 8
    for path, diff in changes:
        lines = diff.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in "- ")
        new = "".join(line[1:] for line in lines if line[0] in "+ ")
        text = (tree / path).read_text()
        assert text.count(old) == 1, f"{path} has {text.count(old)} times\n{old}"
        (tree / path).write_text(text.replace(old, new))


def _sources(tree: pathlib.Path) -> dict[str, bytes]:
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in sorted(tree.rglob("*"))
        if path.is_file()
        and not any(part.startswith("bazel-") for part in path.parts)
        and path.suffix not in (".so", ".pyc")
    }


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """A copy of the tree with the ops in it, built; the ops are removed at the end."""
    copy = tmp_path_factory.mktemp("new_op") / "tree"
    shutil.copytree(_ROOT, copy, ignore=shutil.ignore_patterns(*_IGNORED))
    # The settings that ./run found and its cache of compiled files apply to the copy.
    shutil.copy(os.environ["BAZEL_SETTINGS"], copy / ".bazelrc.user")
    # `--remove` asks Git for the committed files.
    _run(copy.parent, "git", "init", "--quiet")
    _run(copy.parent, "git", "add", copy / "run")
    author = ["-c", "user.name=a", "-c", "user.email=b"]
    _run(copy.parent, "git", *author, "commit", "--quiet", "--message=without ops")
    before = _sources(copy)
    for arguments in _commands(_PAGE):
        if arguments[0] in _BUILT and "--remove" not in arguments:
            _new_op(copy, *arguments)
    _change_the_formula(copy)
    bazel = nested_bazel("new_op")
    try:
        _run(copy, *bazel, "build", "--curses=no", *_TARGETS)
        built = copy / "bazel-bin" / "tensorflow_ext"
        installed = copy / "python" / "tensorflow_ext" / "lib"
        minor = ".".join(tf.__version__.split(".")[:2])
        (installed / minor).mkdir(parents=True, exist_ok=True)
        shutil.copy(built / "libtensorflow_ext.so", installed / minor)
        shutil.copy(built / "loader" / "libtensorflow_ext_loader.so", installed)
        yield copy
    finally:
        _run(copy, *bazel, "shutdown")
    for name in _BUILT:
        _new_op(copy, name, "--remove")
    assert _sources(copy) == before


def test_all_commands_of_the_page_are_accepted() -> None:
    names = {arguments[0] for arguments in _commands(_PAGE)}
    assert names == {*_BUILT, "blend", "cube"}
    for arguments in [*_commands(_PAGE), *_commands(help_text)]:
        options = parser().parse_args(arguments)
        assert options.remove or op_of(options).name == arguments[0]


def test_nothing_is_missing(tree: pathlib.Path) -> None:
    assert "all that an op needs" in _run(tree, sys.executable, "-m", "completeness")


@pytest.mark.parametrize("client", ["eager", "jit_compile", "C"])
def test_clients_differentiate_them(client: str, tree: pathlib.Path) -> None:
    judge = tree / "tests" / "clients" / "python" / "judge.py"
    cases = [tree / "tests" / "clients" / "cases" / f"{op}.cases" for op in _BUILT]
    output = _run(tree, sys.executable, judge, f"--client={client}", *cases)
    count = sum(path.read_text().count("\ncase ") for path in cases)
    assert f"{count} passed, 0 failed" in output


def _pytest(tree: pathlib.Path, test: pathlib.Path, *names: str) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-k", " or ".join(names)]
    assert "passed" in _run(tree, sys.executable, "-m", "pytest", *options, test)


def test_python_functions(tree: pathlib.Path) -> None:
    _pytest(tree, tree / "tests" / "python" / "vectorize_test.py", *_BUILT)


def test_kernels_of_the_gpu(tree: pathlib.Path) -> None:
    folder = tree / _KERNELS_ALONE
    shutil.copy(tree / "bazel-bin" / _KERNELS_ALONE / "libkernels_emulated.so", folder)
    _pytest(tree, folder / "emulated_test.py", "Softsign", "Hypotenuse", "SelectRows")
