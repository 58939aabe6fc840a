"""Loads libtensorflow_ext.so and calls its C interface (gradient/c_api.h).

Importing this module loads the library. Python imports a module only once, whatever
the number of threads.
"""

import contextlib
import ctypes
import enum
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import errors

from tensorflow_ext import _compatibility, _version

_FILE = "libtensorflow_ext.so"
_LOADER = "libtensorflow_ext_loader.so"


class Registries(enum.IntFlag):
    """The registries that have a gradient of an op (c_api.h)."""

    FUNCTION_GRADIENT = 1
    FUNCTION_NO_GRADIENT = 2
    CLIENT_GRADIENT = 4
    CLIENT_NO_GRADIENT = 8
    CLIENT_BRIDGED = 16
    CLIENT_STANDS_IN = 32
    FUNCTION_RUNTIME_ALONE = 64
    FUNCTION_OWN = 128
    FUNCTION_STANDS_IN = 256
    GRADIENT_ASKED_FOR = 512


class _Buffer(ctypes.Structure):
    """TF_Buffer of tensorflow/c/tf_buffer.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("data_deallocator", ctypes.c_void_p),
    )


def _find() -> pathlib.Path:
    """The library's path; each minor version of TensorFlow has its own folder."""
    folder = pathlib.Path(__file__).absolute().parents[1] / "lib"
    minor = _compatibility.TENSORFLOW
    path = folder / minor / _FILE
    if path.is_file():
        return path
    there = sorted(
        (found.parent.name for found in folder.glob(f"*/{_FILE}")),
        key=lambda name: [int(part) for part in name.split(".")],
    )
    if not there:
        raise ImportError(
            f"tensorflow_ext is not built: {path} does not exist; build it with './run build'."
        )
    raise ImportError(
        f"tensorflow_ext is built for TensorFlow {', '.join(there)} ({folder}) and not "
        f"for {tf.__version__}, which is imported: install one of those versions, or build "
        f"tensorflow_ext for this one with './run build --tf {minor}'."
    )


def _load(path: pathlib.Path) -> ctypes.CDLL:
    try:
        tf.load_library(str(path))
        return ctypes.CDLL(str(path))
    except (tf.errors.OpError, OSError) as error:
        raise ImportError(f"TensorFlow {tf.__version__} cannot load {path}: {error}") from error


PATH = _find()
# The library that other languages pass to TF_LoadLibrary. It loads the library for their
# TensorFlow, or reports that there is none.
LOADER = PATH.parent.with_name(_LOADER)
VERSION = _version.check(PATH, tf.__version__)
_LIBRARY = _load(PATH)


def _declare() -> None:
    """Declares the signatures of the functions below to ctypes."""
    buffer = ctypes.POINTER(_Buffer)
    status = ctypes.c_void_p
    node_def = (ctypes.c_char_p, ctypes.c_size_t)
    signatures = {
        "TF_NewBuffer": (buffer,),
        "TF_DeleteBuffer": (None, buffer),
        "TF_NewStatus": (status,),
        "TF_DeleteStatus": (None, status),
        "TF_GetCode": (ctypes.c_int, status),
        "TF_Message": (ctypes.c_char_p, status),
        "TfExt_GradientRegistries": (ctypes.c_uint32, ctypes.c_char_p),
        "TfExt_RegisterAddonsOps": (ctypes.c_int64, status),
        "TfExt_RegisterGradients": (ctypes.c_int64,),
        "TfExt_CheckDefinition": (None, *node_def, status),
        "TfExt_CheckGradientShapes": (ctypes.c_int, ctypes.c_int),
        "TfExt_AllowMissingGradients": (ctypes.c_int, ctypes.c_int),
        "TfExt_ListOps": (None, buffer, status),
        "TfExt_TakeRegistrationErrors": (None, buffer, status),
        "TfExt_DescribeMetaGraph": (None, buffer, buffer, status),
        "TfExt_ModelGradients": (None, buffer, buffer, status),
        "TfExt_FunctionalizeGraphDef": (None, *node_def, ctypes.c_char_p, buffer, status),
        "TfExt_GradientFunctionDef": (None, *node_def, buffer, status),
        "TfExt_GradientPlan": (None, *node_def, ctypes.c_char_p, ctypes.c_size_t, buffer, status),
        "TfExt_InlineCallsOfGraphDef": (
            None,
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_char_p,
            buffer,
            buffer,
            status,
        ),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(_LIBRARY, name)
        function.restype = result
        function.argtypes = arguments


_declare()


def _call(function: Callable[..., None], *arguments: object) -> bytes:
    """Calls a function that fills a buffer; returns the buffer's content."""
    (content,) = _call_filling(1, function, *arguments)
    return content


def _call_filling(count: int, function: Callable[..., None], *arguments: object) -> list[bytes]:
    """Calls a function that fills `count` buffers; returns their contents."""
    buffers = [_LIBRARY.TF_NewBuffer() for _ in range(count)]
    try:
        with _status() as status:
            function(*arguments, *buffers, status)
        contents = [buffer.contents for buffer in buffers]
        return [
            ctypes.string_at(content.data, content.length) if content.data else b""
            for content in contents
        ]
    finally:
        for buffer in buffers:
            _LIBRARY.TF_DeleteBuffer(buffer)


@contextlib.contextmanager
def _status() -> Iterator[int]:
    """A TF_Status for a call; raises the error that the call has set."""
    status = _LIBRARY.TF_NewStatus()
    try:
        yield status
        code = _LIBRARY.TF_GetCode(status)
        if code:
            message = _LIBRARY.TF_Message(status).decode(errors="replace")
            raise _exception(code, message)
    finally:
        _LIBRARY.TF_DeleteStatus(status)


def _exception(code: int, message: str) -> errors.OpError:
    try:
        kind = errors.exception_type_from_error_code(code)
    except KeyError:
        return errors.UnknownError(None, None, message, code)
    return kind(None, None, message)


def registries(op: str) -> Registries:
    """The registries that have a gradient of `op`; 0 for an unknown op."""
    return Registries(_LIBRARY.TfExt_GradientRegistries(op.encode()))


def register_gradients() -> int:
    """TfExt_RegisterGradients: copies function gradients to the C++ registry."""
    return _LIBRARY.TfExt_RegisterGradients()


def take_registration_errors() -> list[str]:
    """Registration errors of libraries that were loaded since the last call."""
    return _call(_LIBRARY.TfExt_TakeRegistrationErrors).decode().splitlines()


def register_addons_ops() -> int:
    """TfExt_RegisterAddonsOps: the number of newly registered ops of TensorFlow Addons.

    Raises:
      tf.errors.FailedPreconditionError: See addons/register_ops.h.
    """
    with _status() as status:
        return _LIBRARY.TfExt_RegisterAddonsOps(status)


def list_ops() -> list[str]:
    """The ops that have a gradient in the function registry, sorted."""
    return _call(_LIBRARY.TfExt_ListOps).decode().splitlines()


def gradient_function_def(node_def: bytes) -> bytes:
    """The checked gradient of an op as a serialized FunctionDef.

    Args:
      node_def: A serialized NodeDef: the op and its attributes.

    Raises:
      tf.errors.OpError: See c_api.h.
    """
    return _call(_LIBRARY.TfExt_GradientFunctionDef, node_def, len(node_def))


def gradient_plan(node_def: bytes, wanted: Sequence[bool] | None) -> bytes:
    """The plan for the gradient of an op, as a serialized GraphDef.

    Args:
      node_def: A serialized NodeDef: the op and its attributes.
      wanted: For each input (flattened) whether its gradient is wanted; None means all.

    Raises:
      tf.errors.OpError: See c_api.h.
    """
    mask = None if wanted is None else bytes(bool(want) for want in wanted)
    return _call(_LIBRARY.TfExt_GradientPlan, node_def, len(node_def), mask, len(mask or b""))


def check_definition(node_def: bytes) -> None:
    """Checks the gradient of an op for all types that the op admits.

    Args:
      node_def: A serialized NodeDef: the op and the given attributes.

    Raises:
      tf.errors.OpError: See TfExt_CheckDefinition in c_api.h.
    """
    with _status() as status:
        _LIBRARY.TfExt_CheckDefinition(node_def, len(node_def), status)


def check_gradient_shapes(check: bool | None = None) -> bool:
    """TfExt_CheckGradientShapes: returns the previous state of the debug switch. None
    does not change it."""
    return bool(_LIBRARY.TfExt_CheckGradientShapes(-1 if check is None else int(check)))


def allow_missing_gradients(allow: bool | None = None) -> bool:
    """TfExt_AllowMissingGradients: returns whether missing gradients were allowed. None
    changes nothing."""
    return bool(_LIBRARY.TfExt_AllowMissingGradients(-1 if allow is None else int(allow)))


def inline_calls(graph_def: bytes, outputs: Sequence[str]) -> tuple[bytes, list[str]]:
    """Nodes that compute tensors of a graph without function calls.

    Args:
      graph_def: A serialized GraphDef, its library included.
      outputs: The tensors, as "node:index".

    Returns:
      A serialized GraphDef of the nodes to add, and the tensors that replace `outputs`.

    Raises:
      tf.errors.OpError: See TfExt_InlineCallsOfGraphDef in c_api.h.
    """
    nodes, inlined = _call_filling(
        2,
        _LIBRARY.TfExt_InlineCallsOfGraphDef,
        graph_def,
        len(graph_def),
        "\n".join(outputs).encode(),
    )
    return nodes, inlined.decode().splitlines()


def functionalize_graph_def(graph_def: bytes, outputs: Sequence[str] | None) -> bytes:
    """The graph with While ops instead of the loops of TensorFlow 1, as a serialized GraphDef.

    Args:
      graph_def: A serialized GraphDef, its library included.
      outputs: The tensors and nodes to keep; None means all.

    Raises:
      tf.errors.OpError: See functionalize/functionalize_graph_def.h.
    """
    lines = None if outputs is None else "\n".join(outputs).encode()
    return _call(_LIBRARY.TfExt_FunctionalizeGraphDef, graph_def, len(graph_def), lines)


def describe_meta_graph(meta_graph_def: bytes | None) -> list[list[str]]:
    """The names that a client needs of a SavedModel: a list of fields for each line.

    Args:
      meta_graph_def: A serialized MetaGraphDef; None stands for NULL.

    Raises:
      tf.errors.InvalidArgumentError: See saved_model/describe_meta_graph.h.
    """
    lines = _call(_LIBRARY.TfExt_DescribeMetaGraph, _buffer_of(meta_graph_def)).decode()
    return [line.split("\t") for line in lines.splitlines()]


def model_gradients(meta_graph_def: bytes | None) -> bytes:
    """The functions by which a graph uses the gradients of its model, as a serialized GraphDef.

    Args:
      meta_graph_def: A serialized MetaGraphDef; None stands for NULL.

    Raises:
      tf.errors.OpError: See TfExt_ModelGradients in saved_model/use_model_gradients.h.
    """
    return _call(_LIBRARY.TfExt_ModelGradients, _buffer_of(meta_graph_def))


def _buffer_of(content: bytes | None) -> Any:
    """A buffer to read, or NULL."""
    if content is None:
        return None
    data = ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p)
    return ctypes.byref(_Buffer(data, len(content), None))
