# SPDX-License-Identifier: Apache-2.0
"""Clients in other languages: programs that answer requests.

tests/clients/README.md describes the protocol.
"""

import os
import pathlib
import struct
import subprocess
from collections.abc import Mapping, Sequence

import graph_defs
import numpy as np
import tensorflow as tf
from clients import Problem, Results
from tensorflow.core.framework import graph_pb2


def _int(number: int) -> bytes:
    return struct.pack("<q", number)


def _bytes(content: bytes) -> bytes:
    return _int(len(content)) + content


def _name(name: str) -> bytes:
    return _bytes(name.encode())


def _names(names: Sequence[str]) -> bytes:
    return _int(len(names)) + b"".join(map(_name, names))


def _tensor(array: np.ndarray) -> bytes:
    dtype = tf.as_dtype(array.dtype).as_datatype_enum
    dims = b"".join(map(_int, array.shape))
    return _int(dtype) + _int(array.ndim) + dims + _bytes(array.tobytes())


class ClientProcess:
    """A client's process with its current graph.

    Where TensorFlow refuses a request, its error is raised, by its code and with
    its message, as Python would raise it.

    Args:
      program: The client.
      library: The op library that it loads; None for TensorFlow's ops alone.
    """

    def __init__(self, program: pathlib.Path, library: str | None) -> None:
        self._program = program
        self._process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What TensorFlow refuses comes back as a status.
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        if library is not None:
            self._ask("library", _name(library))

    def import_graph(self, graph_def: graph_pb2.GraphDef) -> None:
        """Makes this the current graph."""
        self._ask("import", _bytes(graph_def.SerializeToString()))

    def export_graph(self) -> graph_pb2.GraphDef:
        """The current graph with all that was added to it."""
        self._ask("export")
        return graph_pb2.GraphDef.FromString(self._read_bytes())

    def add_gradients(
        self, ys: Sequence[str], xs: Sequence[str], grad_ys: Sequence[str]
    ) -> list[str | None]:
        """Adds gradients to the graph: a tensor for each x, or None."""
        self._ask("gradients", _names(ys), _names(xs), _names(grad_ys))
        names = [self._read_bytes().decode() for _ in range(self._read_int())]
        return [name or None for name in names]

    def run(
        self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]
    ) -> list[np.ndarray]:
        """Runs the graph once in a session with default options."""
        fed = [_name(name) + _tensor(array) for name, array in feeds.items()]
        self._ask("run", _int(len(fed)), *fed, _names(fetches))
        return [self._read_tensor() for _ in range(self._read_int())]

    def close(self) -> int:
        """Ends the process; returns its exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait()

    def _ask(self, request: str, *arguments: bytes) -> None:
        """Sends a request and reads the status, with which every answer begins."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(_name(request) + b"".join(arguments))
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # _read says how the process ended.
        code = self._read_int()
        if code:
            message = self._read_bytes().decode(errors="replace")
            error = tf.compat.v1.errors.exception_type_from_error_code(code)
            raise error(None, None, message)

    def _read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        content = self._process.stdout.read(size)
        if len(content) < size:
            status = self._process.wait()
            raise RuntimeError(f"{self._program} ended with exit status {status}")
        return content

    def _read_int(self) -> int:
        (number,) = struct.unpack("<q", self._read(8))
        return number

    def _read_bytes(self) -> bytes:
        return self._read(self._read_int())

    def _read_tensor(self) -> np.ndarray:
        dtype = tf.as_dtype(self._read_int()).as_numpy_dtype
        shape = [self._read_int() for _ in range(self._read_int())]
        return np.frombuffer(self._read_bytes(), dtype).reshape(shape)

    def __call__(self, problem: Problem) -> Results:
        """Answers as the clients of clients.py do."""
        graph = graph_defs.CaseGraph(problem)
        self.import_graph(graph.graph_def)
        gradients: list[str | None] = []
        second: list[str | None] = []
        if any(graph.upstreams):
            gradients = self._gradients(graph.outputs, graph.inputs, graph.upstreams)
        if any(graph.weights):
            sources = [*graph.inputs, *graph.upstreams]
            second = self._gradients(gradients, sources, graph.weights)
        groups = [graph.outputs, gradients, second]
        fetches = [name for group in groups for name in group if name]
        values = iter(self.run(graph.feeds, fetches))
        return Results(
            *([next(values) if name else None for name in group] for group in groups)
        )

    def _gradients(
        self,
        ys: Sequence[str | None],
        xs: Sequence[str | None],
        grad_ys: Sequence[str | None],
    ) -> list[str | None]:
        """A gradient for each x; None where there is none, or no x."""
        pairs = [(y, dy) for y, dy in zip(ys, grad_ys, strict=True) if y and dy]
        # TensorFlow refuses, for all of them, an x that no y depends on.
        used = graph_defs.ancestors(self.export_graph(), (y for y, _ in pairs))
        known = [x for x in xs if x and x.partition(":")[0] in used]
        if not known:
            return [None] * len(xs)
        added = self.add_gradients(
            [y for y, _ in pairs], known, [dy for _, dy in pairs]
        )
        by_name = dict(zip(known, added, strict=True))
        return [by_name.get(x) if x else None for x in xs]
