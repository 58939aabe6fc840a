"""load_op_library: its result, and its errors for files that cannot be loaded."""

import os
import pathlib
import shutil
import subprocess

import processes
import pytest

_OTHER = processes.other_library()


def _in_process(program: str, *arguments: object) -> None:
    """Runs a program that has loaded no op library yet; `path` is argument 1."""
    header = "import os, pytest, sys, tensorflow as tf, tensorflow_ext as tfe\npath = sys.argv[1]\n"
    processes.run(header + program, *map(str, arguments))


def test_gradients_and_docs() -> None:
    _in_process(
        """
from tensorflow_ext._runtime import _library
with pytest.raises(LookupError), tf.GradientTape() as tape:
    loaded = tf.load_op_library(path)  # TensorFlow's own: wrappers, no gradients
    x = tf.constant([1.0, 2.0])
    tape.watch(x)
    tape.gradient(loaded.other_cube(x), x)
other = tfe.load_op_library(path)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = other.other_cube(x)
assert tape.gradient(y, x).numpy().tolist() == [3, 12]
assert _library.Registries.CLIENT_BRIDGED in _library.registries("Other>Cube")
doc = other.other_cube.__doc__
assert "dx = Mul(" in doc, doc
assert "Python: libother_ops.so" in doc, doc
assert "C and C++: libother_ops.so" in doc, doc
assert doc.count("Gradient:") == 1, doc
assert "has no gradient" in other.other_reshape_each.__doc__
assert "is not registered" in other.other_broken.__doc__
""",
        _OTHER,
    )


def test_twice(tmp_path: pathlib.Path) -> None:
    link = tmp_path / "link.so"
    link.symlink_to(_OTHER)
    _in_process(
        """
import concurrent.futures
names = [path, sys.argv[2], os.path.relpath(path)] * 4
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    loaded = list(pool.map(tfe.load_op_library, names))
assert all(module is loaded[0] for module in loaded)
assert loaded[0].other_cube.__doc__.count("Gradient:") == 1
""",
        _OTHER,
        link,
    )


def test_a_file_that_has_changed(tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "copy.so"
    shutil.copy(_OTHER, copy)
    _in_process(
        """
tfe.load_op_library(path)
os.utime(path, (1, 1))
with pytest.raises(RuntimeError, match="has changed .*: restart the process"):
    tfe.load_op_library(path)
""",
        copy,
    )


def test_an_existing_gradient() -> None:
    _in_process(
        """
before = tfe.gradients.function_def("Erfc", T=tf.float32)
for _ in range(2):
    with pytest.raises(RuntimeError) as error:
        tfe.load_op_library(path)
    assert path in str(error.value)
    assert "Erfc" in str(error.value)
    assert "TFEXT_REGISTER_STAND_IN" in str(error.value)
assert tfe.gradients.function_def("Erfc", T=tf.float32) == before
""",
        os.environ["ERFC_AGAIN"],
    )


def test_an_error_of_an_earlier_library() -> None:
    """The next library that is loaded does not get this error."""
    _in_process(
        """
tf.load_library(sys.argv[2])
with pytest.warns(RuntimeWarning, match="Erfc"):
    tfe.load_op_library(path)
""",
        _OTHER,
        os.environ["ERFC_AGAIN"],
    )


def _compiled(folder: pathlib.Path, source: str, *flags: str) -> pathlib.Path:
    file, library = folder / "bad.cc", folder / "bad.so"
    file.write_text(source)
    subprocess.run(["g++", "-shared", "-fPIC", file, "-o", library, *flags], check=True)
    return library


def _message(library: pathlib.Path, kind: str = "ImportError") -> str:
    """The message of the exception, in one line."""
    output = processes.run(
        f"""
        import sys, tensorflow_ext as tfe
        try:
            tfe.load_op_library(sys.argv[1])
        except {kind} as error:
            print(error)
        """,
        str(library),
    )
    assert output.count("\n") == 1, output
    assert str(library) in output
    return output


@pytest.mark.parametrize(
    ("declaration", "symbol", "sentence"),
    [
        # It has another version of this library's interface.
        ('extern "C" void TfExt_Newer(int);', "TfExt_Newer", "built with a newer version"),
        # Compiled against the headers, but not linked.
        (
            "namespace tensorflow_ext { void Upstream(int); }",
            "tensorflow_ext::Upstream(int)",
            "get_link_flags(op_library=True)",
        ),
        (
            "namespace tensorflow { void New(int); }",
            "tensorflow::New(int)",
            "not built for TensorFlow",
        ),
        ("void Nowhere(int);", "Nowhere(int)", "Link the library with the library that defines"),
    ],
)
def test_an_undefined_symbol(
    declaration: str, symbol: str, sentence: str, tmp_path: pathlib.Path
) -> None:
    function = symbol.removesuffix("(int)")
    message = _message(_compiled(tmp_path, f"{declaration} void f() {{ {function}(0); }}"))
    assert symbol in message
    assert sentence in message


def test_a_library_that_is_missing(tmp_path: pathlib.Path) -> None:
    missing = _compiled(tmp_path, "", "-Wl,-soname,libmissing.so")
    needed = missing.rename(tmp_path / "libmissing.so")
    needing = _compiled(tmp_path, "", "-Wl,--no-as-needed", str(needed))
    needed.unlink()
    message = _message(needing)
    assert "needs libmissing.so" in message
    assert "LD_LIBRARY_PATH" in message


def test_no_library(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "libyour_op.so"
    assert "There is no op library" in _message(file, "FileNotFoundError")
    for content in (b"", b"something else"):
        file.write_bytes(content)
        assert "not a shared library" in _message(file)


@pytest.mark.parametrize("size", [20, 100, 4000, -4096])
def test_a_truncated_library(size: int, tmp_path: pathlib.Path) -> None:
    """The dynamic loader would end the process with a bus error."""
    file = tmp_path / "libyour_op.so"
    file.write_bytes(pathlib.Path(_OTHER).read_bytes()[:size])
    if size > 0:
        assert "is incomplete" in _message(file)
        return
    # The file has everything that is loaded; it lacks only parts for debuggers and linkers.
    _in_process("tfe.load_op_library(path)", file)
