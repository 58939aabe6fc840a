"""examples/your_op, built as its author would, in a copy outside this tree."""

import os
import pathlib
import re
import shutil
import sys
from collections.abc import Callable

import commands
import pytest
import tensorflow as tf
from commit_sampling import turn_of_commit
from nested_bazel import nested_bazel

from tensorflow_ext import sysconfig

# Under Bazel this file is a link into the source tree.
_ROOT = pathlib.Path(__file__).resolve().parents[2]
_EXAMPLE = _ROOT / "examples" / "your_op"
_LIBRARY = "libyour_op.so"
_CMAKE = ("cmake", "-Bbuild", f"-Dtensorflow_ext_DIR={sysconfig.get_cmake_dir()}")
_needs_cmake = pytest.mark.skipif(
    not (shutil.which("cmake") and shutil.which("ninja")),
    reason="there is no CMake or no Ninja, which ./run installs where it may",
)


def _run(*command: str | pathlib.Path, cwd: pathlib.Path) -> str:
    """Runs a program that imports this process's tensorflow_ext."""
    environment = commands.environment(PYTHON=sys.executable, TF_CPP_MIN_LOG_LEVEL="3")
    return commands.run(*command, cwd=cwd, env=environment)


@pytest.fixture
def copy(tmp_path: pathlib.Path) -> pathlib.Path:
    ignored = shutil.ignore_patterns("bazel-*", "build", "*.so", "client")
    return shutil.copytree(_EXAMPLE, tmp_path / "your_op", ignore=ignored)


def _check(folder: pathlib.Path, built: pathlib.Path) -> None:
    """The library in Python and in C, and its exported symbols."""
    library = built / _LIBRARY
    output = _run(sys.executable, "squareplus_test.py", library, cwd=folder)
    assert output.rstrip().endswith("fine")
    ours = pathlib.Path(sysconfig.get_lib(), "libtensorflow_ext.so")
    output = _run(built / "client", ours, library, cwd=folder)
    assert re.search(r"^dy/dx +0\.211325 +0\.500000 +0\.908248$", output, re.MULTILINE)
    if (built / "graph_client").exists():  # Bazel and CMake write its typed ops
        output = _run(built / "graph_client", ours, library, cwd=folder)
        assert output.splitlines()[-1] == "dy/dx 0.211325 0.500000 0.908248"
    exported = _run("nm", "-DC", "--defined-only", library, cwd=folder)
    assert "tensorflow_ext" not in exported
    assert "your::" not in exported
    needed = _run("readelf", "-d", library, cwd=folder)
    assert "[libtensorflow_ext.so]" in needed
    assert "cudart" not in needed


def by_the_compiler(copy: pathlib.Path) -> None:
    _run("./build.sh", cwd=copy)
    _check(copy, copy)


def _nvcc() -> str | None:
    """The CUDA compiler of this build, if it has one."""
    settings = pathlib.Path(os.environ["BAZEL_SETTINGS"]).read_text()
    found = re.search(r"--repo_env=NVCC=(.*)", settings)
    return found[1] if found else None


def by_cmake(copy: pathlib.Path) -> None:
    nvcc = _nvcc()
    cuda = f"-DCMAKE_CUDA_COMPILER={nvcc}" if nvcc else "-Dtensorflow_ext_CUDA=OFF"
    output = _run(*_CMAKE, "-GNinja", f"-DPython3_EXECUTABLE={sys.executable}", cuda, cwd=copy)
    assert ("The CUDA compiler identification is NVIDIA" in output) == bool(nvcc)
    _run("cmake", "--build", "build", cwd=copy)
    assert (copy / "build" / "graph_client").is_file()
    _check(copy, copy / "build")
    _check_devices(copy / "build" / _LIBRARY, bool(nvcc))


def _check_devices(library: pathlib.Path, has_cuda: bool) -> None:
    """Kernels for the GPU exist if there is a compiler for them."""
    program = f"""
import tensorflow_ext as tfe
from tensorflow.python.framework import kernels
tfe.load_op_library({str(library)!r})
print({{k.device_type for k in
       kernels.get_registered_kernels_for_op("Your>Squareplus").kernel}})
"""
    output = _run(sys.executable, "-c", program, cwd=library.parent)
    assert "CPU" in output
    assert ("'GPU'" in output) == has_cuda


@_needs_cmake
def test_cmake_without_tensorflow(copy: pathlib.Path) -> None:
    """If the interpreter has none, the message says what to do."""
    said = commands.run(*_CMAKE, "-DPython3_EXECUTABLE=/bin/false", cwd=copy, fails=True)
    assert "-DPython3_EXECUTABLE=" in said


def by_bazel(copy: pathlib.Path) -> None:
    workspace = copy / "WORKSPACE"
    text = workspace.read_text()
    assert 'path = "../.."' in text
    workspace.write_text(text.replace('path = "../.."', f'path = "{_ROOT}"'))
    # The settings that ./run found and its cache of compiled files apply here too.
    shutil.copy(os.environ["BAZEL_SETTINGS"], copy / ".bazelrc.user")
    bazel = nested_bazel("your_op")
    try:
        _run(*bazel, "build", "--curses=no", "//...", cwd=copy)
        assert (copy / "bazel-bin" / "graph_client").is_file()
        _check(copy, copy / "bazel-bin")
        _check_devices(copy / "bazel-bin" / _LIBRARY, bool(_nvcc()))
    finally:
        _run(*bazel, "shutdown", cwd=copy)


@pytest.mark.parametrize(
    "build",
    turn_of_commit(
        "your_op",
        (by_the_compiler, pytest.param(by_cmake, marks=_needs_cmake), by_bazel),
        *("examples/your_op/", "kit/your_op_test", "/sysconfig.py", "/cmake/"),
        *("tensorflow_ext/build_defs.bzl", "tensorflow_ext/workspace.bzl"),
    ),
)
def test_built(build: Callable[[pathlib.Path], None], copy: pathlib.Path) -> None:
    build(copy)


def test_readme_shows_the_built_code() -> None:
    """The blocks of code on its page, word for word, except commands."""
    page = (_EXAMPLE / "README.md").read_text()
    files = [path for path in _EXAMPLE.iterdir() if path.is_file() and path.name != "README.md"]
    sources = "\n".join(path.read_text() for path in files)
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 10
    own = [text for language, text in blocks if text not in sources]
    # CMake's commands and Python sessions are left out: _check and the tests above run both.
    assert [text.split()[0] for text in own] == ["cmake", "import"]


def test_flags_are_those_of_tensorflow() -> None:
    """The flags, except the folders of headers and the optimisation of op libraries."""
    theirs = [f for f in tf.sysconfig.get_compile_flags() if not f.startswith("-I")]
    assert set(theirs) <= set(sysconfig.get_compile_flags())
    assert not [f for f in sysconfig.get_compile_flags(c=True) if "std=" in f]
