"""TensorFlow's generated Python functions of ops."""

import functools
import keyword
import pathlib
import re
import types
from collections.abc import Sequence

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import _pywrap_python_op_gen


def op_defs(namespace: str = "") -> list[op_def_pb2.OpDef]:
    """The ops of this process whose names begin with a namespace, such as 'TfExt>'.

    They have their documentation, which Python's registry omits. They come from the C++
    registry, because loading a file reports no ops if the process already has another
    copy of the library.
    """
    buffer = pywrap_tf_session.TF_GetAllOpList()
    serialized = pywrap_tf_session.TF_GetBuffer(buffer)
    pywrap_tf_session.TF_DeleteBuffer(buffer)
    return [op_def for op_def in _parse_op_list(serialized) if op_def.name.startswith(namespace)]


@functools.lru_cache(maxsize=1)
def _parse_op_list(serialized: bytes) -> tuple[op_def_pb2.OpDef, ...]:
    """Cached, because it takes 7 ms for two thousand ops and an import calls it twice."""
    return tuple(op_def_pb2.OpList.FromString(serialized).op)


def load(path: str) -> types.ModuleType:
    """Loads an op library like tf.load_op_library, but allows attributes of any name."""
    try:
        return tf.load_op_library(path)
    except SyntaxError:  # In the generated module; the ops are loaded by now.
        library = pywrap_tf_session.TF_LoadLibrary(path)
        op_list = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetOpList(library))
        return generate(op_list.op, pathlib.Path(path).stem)


def generate(ops: Sequence[op_def_pb2.OpDef], name: str) -> types.ModuleType:
    """A module with a function for each op, as tf.load_op_library makes one.

    An attribute named like a Python keyword, such as `lambda`, becomes `lambda_`;
    tf.load_op_library generates invalid Python for it.
    """
    source = _pywrap_python_op_gen.GetPythonWrappers(op_def_pb2.OpList(op=ops).SerializeToString())
    if isinstance(source, bytes):
        source = source.decode()
    for word in {attr.name for op in ops for attr in op.attr} & {*keyword.kwlist}:
        # TensorFlow renames the parameter, but not its uses in the eager paths.
        source = re.sub(rf'("{word}", ){word}([,)])', rf"\1{word}_\2", source)
        source = re.sub(rf"\b{word}={word},", f"{word}_={word}_,", source)
    module = types.ModuleType(name)
    exec(source, module.__dict__)
    return module
