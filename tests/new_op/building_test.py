"""new-op writes the ops of docs/adding_an_op.md into a copy of the tree: three files for an
elementwise op, and no list. With the formula changed as the page says, they build and pass.
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
from commit_sampling import by_turns, turn_of_commit
from nested_bazel import nested_bazel

# Under Bazel this file is a link into the source tree.
_ROOT = pathlib.Path(__file__).resolve().parents[2]
_PAGE = (_ROOT / "docs" / "adding_an_op.md").read_text()
_KERNELS_ALONE = "tests/gpu/kernels_alone"
_FILES = ("tools/new_op/", "tests/new_op/", "adding_an_op.md", "/ops/functors.bzl", "ops/BUILD")
_TARGETS = [
    "//python/tensorflow_ext:op_modules",
    "//tensorflow_ext:libtensorflow_ext.so",
    "//tensorflow_ext/loader:libtensorflow_ext_loader.so",
    "//bindings/c:client",
]
_IMPORTED_FROM = ("python", "tools", "third_party/python", "tests", "tests/clients/python")
_CHANGE = re.compile(r"^`([^`]+)`:\n\n```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IGNORED = (".git", ".venv*", ".bazelrc.user", "bazel-*", "out", "__pycache__", "*_cache", "*.so")
# The ops that the page's commands write, by the words that their clients' cases have.
_OPS = {"softsign": "Softsign", "hypotenuse": "Hypotenuse", "keep_first": "KeepFirst"}


def _run(tree: pathlib.Path, *command: str | pathlib.Path, fails: bool = False) -> str:
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": ":".join(str(tree / folder) for folder in _IMPORTED_FROM),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    return commands.run(*command, fails=fails, cwd=tree, env=environment)


def _new_op(tree: pathlib.Path, *arguments: str, fails: bool = False) -> str:
    return _run(tree, sys.executable, "-m", "new_op", *arguments, fails=fails)


def _change_the_formula(tree: pathlib.Path) -> None:
    changes = _CHANGE.findall(_PAGE)
    assert len(changes) == 14
    for path, diff in changes:
        lines = diff.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in "- ")
        new = "".join(line[1:] for line in lines if line[0] in "+ ")
        text = (tree / path).read_text()
        assert text.count(old) == 1, f"{path} has {text.count(old)} times\n{old}"
        (tree / path).write_text(text.replace(old, new))


def _install(tree: pathlib.Path) -> None:
    """Copies the built files into the package, as ./run build does."""
    built, package = tree / "bazel-bin" / "tensorflow_ext", tree / "python" / "tensorflow_ext"
    minor = ".".join(tf.__version__.split(".")[:2])
    (package / "lib" / minor).mkdir(parents=True, exist_ok=True)
    shutil.copy(built / "libtensorflow_ext.so", package / "lib" / minor)
    shutil.copy(built / "loader" / "libtensorflow_ext_loader.so", package / "lib")
    for module in (tree / "bazel-bin" / "python" / "tensorflow_ext" / "ops").glob("_*.py"):
        shutil.copy(module, package / "ops")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """A copy of the tree with the page's ops in it, built."""
    copy = tmp_path_factory.mktemp("new_op") / "tree"
    shutil.copytree(_ROOT, copy, ignore=shutil.ignore_patterns(*_IGNORED))
    # The settings that ./run found and its cache of compiled files apply to the copy.
    shutil.copy(os.environ["BAZEL_SETTINGS"], copy / ".bazelrc.user")
    found = re.findall(r"^ +\./run new-op (.*)$", _PAGE, re.MULTILINE)
    assert [words.split()[0] for words in found] == [*_OPS]
    for words in found:
        written = _new_op(copy, *words.split()).split()
        assert len(written) == (7 if "--like" in words else 3)
    _change_the_formula(copy)
    bazel = nested_bazel("new_op")
    on_gpu = [f"//{_KERNELS_ALONE}:libkernels_emulated.so"] if test_kernels_of_the_gpu else []
    try:
        _run(copy, *bazel, "build", "--curses=no", *_TARGETS, *on_gpu)
        _install(copy)
        yield copy
    finally:
        _run(copy, *bazel, "shutdown")


@pytest.mark.parametrize(
    "client", turn_of_commit("clients", ["eager", "jit_compile", "C"], *_FILES)
)
def test_clients_differentiate_them(client: str, tree: pathlib.Path) -> None:
    judge = tree / "tests" / "clients" / "python" / "judge.py"
    chosen = [f"--case={op}" for op in _OPS.values()]
    output = _run(tree, sys.executable, judge, f"--client={client}", *chosen)
    assert all(re.search(rf"^ok .*TfExt>{op} ", output, re.MULTILINE) for op in _OPS.values())
    assert " passed, 0 failed" in output


def _pytest(tree: pathlib.Path, test: pathlib.Path, names: str) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-k", names]
    assert "passed" in _run(tree, sys.executable, "-m", "pytest", *options, test)


def test_python_functions(tree: pathlib.Path) -> None:
    _pytest(tree, tree / "tests" / "python" / "vectorize_test.py", "softsign or hypotenuse")


def test_nothing_is_missing(tree: pathlib.Path) -> None:
    test = tree / "tests" / "completeness" / "completeness_test.py"
    shutil.copy(test, tree / "tests" / "python")  # beside the modules that it imports
    _pytest(tree, tree / "tests" / "python" / test.name, "(oftsign or ypotenuse) and not suites")


@by_turns(2, *_FILES, "tests/gpu/")
def test_kernels_of_the_gpu(tree: pathlib.Path) -> None:
    test = tree / _KERNELS_ALONE / "emulated_test.py"
    shutil.copy(tree / "bazel-bin" / _KERNELS_ALONE / "libkernels_emulated.so", test.parent)
    _pytest(tree, test, "Softsign or Hypotenuse")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("relu", "there is such an op in tensorflow_ext/ops/activations"),
        ("swiglu", "swiglu' has this name|activations.py has this name"),
        ("square", "has such a function"),
        ("layers", "python/tensorflow_ext/layers has this name"),
        ("x_y", "expected words of lower-case letters"),
        ("import", "something of this name"),
        ("common", "something of this name"),
        ("one --like two", "there is no such folder"),
    ],
)
def test_wrong_arguments_are_refused(words: str, message: str) -> None:
    assert re.search(message, _new_op(_ROOT, *words.split(), fails=True))
