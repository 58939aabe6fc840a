"""Finding, checking and loading the library file; compiling against it."""

import pathlib
import shutil

import commands
import processes
import pytest
import tensorflow as tf

import tensorflow_ext as tfe
from tensorflow_ext import _compatibility, _version
from tensorflow_ext._runtime import _library


def _library_for(version: bytes, folder: pathlib.Path) -> pathlib.Path:
    """A file that says it was built for this version of TensorFlow."""
    path = folder / "libtensorflow_ext.so"
    path.write_bytes(b"\x7fELF\0tensorflow_ext 1.2.3 for TensorFlow %b\0" % version)
    return path


def test_versions() -> None:
    version, built_for = _version.read_stamp(_library.PATH)
    assert tfe.__version__ == version
    assert _version.minor(built_for) == _compatibility.TENSORFLOW


def test_another_patch_of_the_same_minor_version(tmp_path: pathlib.Path) -> None:
    assert _version.check(_library_for(b"2.21.0", tmp_path), "2.21.3") == "1.2.3"


@pytest.mark.parametrize("running", ["2.20.1", "2.22.0", "3.21.0", "2.2.0"])
def test_another_minor_version(running: str, tmp_path: pathlib.Path) -> None:
    path = _library_for(b"2.21.0", tmp_path)
    with pytest.raises(ImportError, match=r"1\.2\.3.*2\.21\.0") as error:
        _version.check(path, running)
    message = str(error.value)
    assert f"TensorFlow {running}" in message
    assert "./run build" in message
    assert "\n" not in message


def test_a_file_that_is_not_a_library(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "libtensorflow_ext.so"
    for content in (b"", b"something else"):
        path.write_bytes(content)
        with pytest.raises(ImportError, match="libtensorflow_ext"):
            _version.read_stamp(path)
    with pytest.raises(ImportError, match="missing"):
        _version.read_stamp(tmp_path / "missing.so")


def _package_with(library: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A copy of the package beside this library."""
    package = folder / "tensorflow_ext"
    source = pathlib.Path(tfe.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("include", "lib"))
    folder = package / "lib" / _compatibility.TENSORFLOW
    folder.mkdir(parents=True)
    shutil.copy(library, folder / "libtensorflow_ext.so")
    return package


def test_import_checks_before_it_loads(tmp_path: pathlib.Path) -> None:
    """The file is not a library at all, so loading it would fail in another way."""
    package = _package_with(_library_for(b"1.15.0", tmp_path), tmp_path)
    program = """
        try:
            import tensorflow_ext
        except ImportError as error:
            print(error)
    """
    message = processes.run(program, package=package)
    assert "built for TensorFlow 1.15.0" in message
    assert f"TensorFlow {tf.__version__}" in message


def test_the_import_of_the_package_is_lazy() -> None:
    processes.run(
        """
        import sys, tensorflow_ext
        assert not any("tensorflow_ext.testing" in name for name in sys.modules)
        """
    )


_CHECK = """
    import numpy as np
    x = tf.constant([-1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tensorflow_ext.relu(x)
    np.testing.assert_array_equal(tape.gradient(y, x), [0, 1])
    assert callable(tensorflow_ext.raw_ops.roi_pool_grad)
"""


@pytest.mark.parametrize("copies", ["before", "after"])
def test_a_copy_of_the_library_in_the_process(copies: str, tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "copy.so"
    shutil.copy(_library.PATH, copy)
    load = f"tf.load_op_library({str(copy)!r})"
    ours = "import tensorflow_ext"
    steps = [load, ours] if copies == "before" else [ours, load, load]
    program = "\n    ".join(["", "import tensorflow as tf", *steps]) + _CHECK
    processes.run(program)


@pytest.mark.parametrize("first", ["copy", "ours"])
def test_both_copies_give_the_list_of_ops(first: str, tmp_path: pathlib.Path) -> None:
    # Java and other languages generate their wrappers from these.
    copy = tmp_path / "copy.so"
    shutil.copy(_library.PATH, copy)
    paths = [str(copy), str(_library.PATH)]
    program = f"""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session as c
    lists = []
    for path in {paths if first == "copy" else paths[::-1]}:
        library = c.TF_LoadLibrary(path)
        ops = op_def_pb2.OpList.FromString(c.TF_GetOpList(library)).op
        lists.append(sorted(op.SerializeToString() for op in ops))
    assert len(lists[0]) > 50
    assert lists[0] == lists[1]
    """
    processes.run(program)


def test_loading_the_same_file_again() -> None:
    path = str(_library.PATH)
    first, second = tf.load_op_library(path), tf.load_op_library(path)
    assert first is second
    assert tfe.gradients.register_all() == 0


def test_import_after_xla_has_compiled() -> None:
    """XLA takes over the registered lowerings when it first compiles."""
    program = """
        import tensorflow as tf
        tf.function(lambda x: x + 1, jit_compile=True, autograph=False)(tf.ones([2]))
        import tensorflow_ext as tfe

        def derivative(x, i):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tfe.mish(tfe.embedding_bag(i, x))
            return tape.gradient(y, x)

        compiled = tf.function(derivative, jit_compile=True, autograph=False)
        for dtype in (tf.half, tf.bfloat16, tf.float32, tf.float64):
            x, i = tf.ones([3, 2], dtype), tf.constant([[0, 2]])
            error = tf.abs(tf.cast(compiled(x, i) - derivative(x, i), tf.float32))
            assert tf.reduce_max(error) < 1e-2
    """
    processes.run(program)


def test_import_by_many_threads() -> None:
    program = (
        """
    import threading
    import tensorflow as tf
    failures = []
    def load():
        try:
            import tensorflow_ext
            tensorflow_ext.relu(tf.constant(1.0))
        except Exception as error:
            failures.append(error)
    threads = [threading.Thread(target=load) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures, failures
    import tensorflow_ext
"""
        + _CHECK
    )
    processes.run(program)


def test_raw_ops_of_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match=r"nope.*relu"):
        _ = tfe.raw_ops.nope


def test_compile_and_link_flags(tmp_path: pathlib.Path) -> None:
    """A C++ program that calls the C interface, built with these flags only."""
    source = tmp_path / "main.cc"
    source.write_text(
        "#include <cstdio>\n"
        '#include "tensorflow_ext/gradient/c_api.h"\n'
        "int main() {\n"
        '  std::printf("%u", TfExt_GradientRegistries("TfExt>Relu"));\n'
        "}\n"
    )
    program = tmp_path / "main"
    folders = [tfe.sysconfig.get_lib(), tf.sysconfig.get_lib()]
    flags = [*tfe.sysconfig.get_link_flags(), *(f"-Wl,-rpath,{folder}" for folder in folders)]
    commands.run("c++", *tfe.sysconfig.get_compile_flags(), source, "-o", program, *flags)
    bits = _library.Registries(int(commands.run(program)))
    wanted = _library.Registries.FUNCTION_GRADIENT | _library.Registries.CLIENT_BRIDGED
    assert wanted in bits
