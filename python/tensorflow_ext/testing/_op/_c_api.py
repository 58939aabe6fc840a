"""Graphs of TensorFlow's C API through ctypes.

This module needs no package of TensorFlow, so that the tests of clients in C use it without one.
"""

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Output(ctypes.Structure):
    """TF_Output of tensorflow/c/c_api.h."""

    _fields_ = (("operation", ctypes.c_void_p), ("index", ctypes.c_int))


class _Buffer(ctypes.Structure):
    """TF_Buffer of tensorflow/c/tf_buffer.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("data_deallocator", ctypes.c_void_p),
    )


# The return types of functions that do not return int.
_RESULTS: dict[Any, str] = {
    ctypes.c_void_p: "TF_NewStatus TF_NewGraph TF_NewImportGraphDefOptions "
    "TF_GraphOperationByName TF_NewBufferFromString TF_NewBuffer",
    ctypes.c_char_p: "TF_Message TF_OperationName",
}


class Api:
    """The C API in a library.

    Args:
      library: The library, or one that is linked to it.
      error: Makes the exception of a status from its code and its message.
    """

    def __init__(self, library: ctypes.CDLL, error: Callable[[int, str], Exception]) -> None:
        self._c = library
        self._error = error
        self._declare(_RESULTS)

    def _declare(self, results: dict[Any, str]) -> None:
        for result, names in results.items():
            for name in names.split():
                getattr(self._c, name).restype = result

    @contextlib.contextmanager
    def status(self) -> Iterator[ctypes.c_void_p]:
        """A TF_Status for a call; raises the error that the call has written into it."""
        status = ctypes.c_void_p(self._c.TF_NewStatus())
        try:
            yield status
            code = self._c.TF_GetCode(status)
            if code != 0:
                message = self._c.TF_Message(status).decode(errors="replace")
                raise self._error(code, message)
        finally:
            self._c.TF_DeleteStatus(status)

    def filled(self, fill: Callable[[ctypes.c_void_p], object]) -> bytes:
        """The bytes that `fill` writes into a TF_Buffer."""
        buffer = ctypes.c_void_p(self._c.TF_NewBuffer())
        try:
            fill(buffer)
            content = ctypes.cast(buffer, ctypes.POINTER(_Buffer)).contents
            return ctypes.string_at(content.data, content.length)
        finally:
            self._c.TF_DeleteBuffer(buffer)

    def _checked(self, function: str, *arguments: object) -> int:
        """Calls a function whose last argument is the status."""
        with self.status() as status:
            return getattr(self._c, function)(*arguments, status)


class Graph:
    """A TF_Graph. Tensors are "node:index"."""

    def __init__(self, client: Api) -> None:
        self._client = client
        self._c = client._c
        self._graph = ctypes.c_void_p(self._c.TF_NewGraph())

    def __del__(self) -> None:
        self._c.TF_DeleteGraph(self._graph)

    def add(self, graph_def: bytes) -> None:
        """Adds the nodes of a serialized GraphDef."""
        buffer = ctypes.c_void_p(self._c.TF_NewBufferFromString(graph_def, len(graph_def)))
        options = ctypes.c_void_p(self._c.TF_NewImportGraphDefOptions())
        try:
            self._client._checked("TF_GraphImportGraphDef", self._graph, buffer, options)
        finally:
            self._c.TF_DeleteImportGraphDefOptions(options)
            self._c.TF_DeleteBuffer(buffer)

    def gradients(
        self, ys: Sequence[str], xs: Sequence[str], grad_ys: Sequence[str]
    ) -> list[str | None]:
        """Adds the gradients of `ys` by `xs` with TF_AddGradients.

        Returns for each of `xs` the tensor's name, or None if there is no gradient.
        """
        result = (Output * len(xs))()
        y, x = self._outputs(ys), self._outputs(xs)
        dy = self._outputs(grad_ys) if grad_ys else None
        with self._client.status() as status:
            self._c.TF_AddGradients(self._graph, y, len(y), x, len(x), dy, status, result)
        return self._names(result)

    def graph_def(self) -> bytes:
        """The graph as a serialized GraphDef."""
        return self._client.filled(
            lambda buffer: self._client._checked("TF_GraphToGraphDef", self._graph, buffer)
        )

    def _outputs(self, names: Sequence[str]) -> ctypes.Array:
        outputs = (Output * len(names))()
        for output, name in zip(outputs, names, strict=True):
            node, _, index = name.partition(":")
            operation = self._c.TF_GraphOperationByName(self._graph, node.encode())
            if not operation:
                raise KeyError(f"the graph has no node {node!r}")
            output.operation, output.index = operation, int(index or 0)
        return outputs

    def _names(self, outputs: ctypes.Array) -> list[str | None]:
        """The names of tensors; None for a tensor whose operation is NULL."""
        names: list[str | None] = []
        for output in outputs:
            if not output.operation:
                names.append(None)
                continue
            node = self._c.TF_OperationName(ctypes.c_void_p(output.operation))
            names.append(f"{node.decode()}:{output.index}")
        return names
