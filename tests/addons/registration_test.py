"""Only `import tensorflow_ext.addons` registers TensorFlow Addons' ops.

Each test runs in a process of its own.

Environment: OTHER_ADDONS  the library of other_addons.cc
"""

import os
import pathlib
import shutil

import processes

from tensorflow_ext._runtime import _library

_GRAPH = """
    import sys
    import numpy as np
    import tensorflow as tf
    from tensorflow.core.framework import graph_pb2
    from tensorflow.python.framework import op_def_registry

    def gelu(compiled=False):
        graph = graph_pb2.GraphDef()
        node = graph.node.add(name="y", op="Addons>Gelu", input=["x"])
        node.attr["T"].type = tf.float32.as_datatype_enum

        @tf.function(jit_compile=compiled, autograph=False)
        def run(x):
            return tf.graph_util.import_graph_def(graph, {"x": x}, ["y:0"])[0]

        return run(tf.constant([-1.0, 0.5])).numpy()

    def check(values):
        np.testing.assert_allclose(values, [-0.158808, 0.345714], rtol=1e-5)

    def names():
        from tensorflow.python.client import pywrap_tf_session as c
        from tensorflow.core.framework import op_def_pb2
        ops = op_def_pb2.OpList.FromString(c.TF_GetBuffer(c.TF_GetAllOpList())).op
        return {op.name for op in ops if op.name.startswith("Addons>")}
"""


def _run(program: str, *arguments: str) -> None:
    assert "fine" in processes.run(_GRAPH + program + '\n    print("fine")', *arguments)


def test_importing_the_package_registers_nothing() -> None:
    _run(
        """
    import tensorflow_ext
    import tensorflow_ext.layers
    assert not names()
    try:
        gelu()
    except tf.errors.NotFoundError as error:
        assert "Addons>Gelu" in str(error), error
    else:
        raise AssertionError("an op that nobody has registered")
    from tensorflow_ext._runtime import _library
    assert not _library.registries("Addons>Gelu")
        """
    )


def test_importing_the_module_registers() -> None:
    _run(
        """
    import tensorflow_ext.addons
    assert names() == {*tensorflow_ext.addons.OPS}
    check(gelu())
    from tensorflow_ext._runtime import _library
    assert _library.register_addons_ops() == 0
    assert tensorflow_ext.gradients.register_all() == 0
    assert {*tensorflow_ext.addons.OPS} <= {*tensorflow_ext.gradients.list_ops()}
        """
    )


def test_after_xla_has_compiled() -> None:
    """XLA takes over the registered lowerings when it first compiles."""
    _run(
        """
    import tensorflow_ext
    tf.function(tensorflow_ext.mish, jit_compile=True)(tf.ones([2]))
    import tensorflow_ext.addons
    check(gelu(compiled=True))
        """
    )


def test_from_many_threads() -> None:
    _run(
        """
    import concurrent.futures
    import threading
    from tensorflow_ext._runtime import _library
    barrier = threading.Barrier(8)

    def register(_):
        barrier.wait()
        count = _library.register_addons_ops()
        check(gelu())
        return count

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(register, range(8))) == 18
        """
    )


def test_an_op_of_another_library_stays_as_it_is() -> None:
    """The other library keeps its kernel and its gradient in every registry."""
    _run(
        """
    other = tf.load_op_library(sys.argv[1])
    import tensorflow_ext.addons
    assert names() == {*tensorflow_ext.addons.OPS}
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = other.addons_mish(x)
    np.testing.assert_array_equal(y, 2 * x)
    # The function registry's, as any library's without a gradient in Python.
    np.testing.assert_array_equal(tape.gradient(y, x), [5, 5])
    check(gelu())

    from tensorflow_ext._runtime._library import Registries, registries
    found = registries("Addons>Mish")
    assert Registries.CLIENT_GRADIENT in found, found
    assert Registries.CLIENT_BRIDGED not in found, found
    assert Registries.FUNCTION_OWN not in found, found
    assert Registries.CLIENT_BRIDGED in registries("Addons>MishGrad")
        """,
        os.environ["OTHER_ADDONS"],
    )


def test_a_copy_of_the_library_that_was_loaded_first(tmp_path: pathlib.Path) -> None:
    """The other library has registered the ops, so its functions are the ones to call."""
    copy = tmp_path / "copy.so"
    shutil.copy(_library.PATH, copy)
    _run(
        """
    tf.load_op_library(sys.argv[1])
    try:
        import tensorflow_ext.addons
    except tf.errors.FailedPreconditionError as error:
        assert "another copy of libtensorflow_ext.so" in str(error), error
    else:
        raise AssertionError("registered by the second copy")
    assert not names()
        """,
        str(copy),
    )
