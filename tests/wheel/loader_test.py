"""libtensorflow_ext_loader.so: the result of TF_LoadLibrary in C, and its messages."""

import os
import pathlib
import shutil
import sys

import commands
import pytest
import tensorflow as tf

from tensorflow_ext import sysconfig
from tensorflow_ext._runtime import _library

MINOR = ".".join(tf.__version__.split(".")[:2])
LOADER = "libtensorflow_ext_loader.so"
PROGRAM = os.environ["PROGRAM"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Loads the named library; says whether an op exists afterwards."""
    made = tmp_path_factory.mktemp("program") / "program"
    lib = tf.sysconfig.get_lib()
    libraries = sysconfig.get_tensorflow_libraries()
    flags = [f"-isystem{tf.sysconfig.get_include()}", f"-Wl,-rpath,{lib}"]
    commands.run("cc", PROGRAM, *flags, *libraries, "-o", made)
    return made


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "a folder"
    folder.mkdir()
    shutil.copy(os.environ["LOADER"], folder / LOADER)
    return folder


def _add(folder: pathlib.Path, version: str, content: bytes | None = None) -> None:
    file = folder / version / "libtensorflow_ext.so"
    file.parent.mkdir()
    if content is None:
        file.symlink_to(os.path.realpath(_library.PATH))
    else:
        file.write_bytes(content)


def _load(program: pathlib.Path, folder: pathlib.Path, fails: bool = False) -> str:
    """Runs the program; returns the sentence that it prints."""
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    printed = commands.run(program, folder / LOADER, env=environment, fails=fails)
    return printed.splitlines()[-1]


def test_library_of_the_version(program: pathlib.Path, folder: pathlib.Path) -> None:
    _add(folder, "2.0", b"of another TensorFlow")
    _add(folder, MINOR)
    assert _load(program, folder) == f"TensorFlow {tf.__version__} has TfExt>Relu"


def test_only_other_versions(program: pathlib.Path, folder: pathlib.Path) -> None:
    for version in ("2.9", "2.10"):
        _add(folder, version, b"")
    (folder / "cmake").mkdir()
    said = _load(program, folder, fails=True)
    assert f"this process has TensorFlow {tf.__version__}, but tensorflow_ext" in said
    assert f"in {folder} has libraries for TensorFlow 2.9, 2.10: use one" in said
    assert f"that is built for {MINOR}" in said


def test_none(program: pathlib.Path, folder: pathlib.Path) -> None:
    assert "has libraries for TensorFlow none" in _load(program, folder, fails=True)


def test_a_broken_library(program: pathlib.Path, folder: pathlib.Path) -> None:
    _add(folder, MINOR, b"not whole")
    said = _load(program, folder, fails=True)
    assert f"{folder}/{MINOR}/libtensorflow_ext.so: file too short" in said


def test_python(folder: pathlib.Path) -> None:
    """TensorFlow still works after it has refused a library."""
    source = """
import sys, tensorflow as tf
for path in sys.argv[1:]:
    try:
        tf.load_library(path)
        print("loaded")
    except tf.errors.InvalidArgumentError as error:
        print("this process has TensorFlow" in error.message)
print(tf.add(1, 2).numpy())
"""
    other = folder / "other"
    other.mkdir()
    shutil.copy(folder / LOADER, other)
    _add(folder, MINOR)
    paths = [str(other / LOADER), str(folder / LOADER)]
    printed = commands.run(sys.executable, "-I", "-c", source, *paths)
    assert printed.split() == ["True", "loaded", "3"]
