"""A program in another language instead of c_client.Client.

tests/clients/README.md describes the protocol. A program has one graph at a time, the last one that
was made.
"""

import pathlib
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from c_client import ClientError
from c_tensors import TYPES
from protocol import Program


class _Program(Program):
    types: ClassVar = {enum: np.dtype(dtype) for enum, dtype in TYPES.items()}

    def error(self, code: int, message: str) -> Exception:
        return ClientError(code, message)


class Client:
    """Like c_client.Client, by the program `path`."""

    def __init__(self, path: str | pathlib.Path, library: str | pathlib.Path | None) -> None:
        self._program = _Program(path, library)

    def load(self, library: str | pathlib.Path) -> None:
        self._program.load(library)

    def import_graph(self, graph_def: bytes) -> "Graph":
        self._program.import_graph(graph_def)
        return Graph(self._program)

    def load_saved_model(self, folder: str | pathlib.Path) -> "Graph":
        self._program.load_saved_model(folder)
        return Graph(self._program)


class Graph:
    """The current graph of a program, like c_client.Graph."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def add(self, graph_def: bytes) -> None:
        self._program.add(graph_def)

    def gradients(
        self, ys: Sequence[str], xs: Sequence[str], grad_ys: Sequence[str]
    ) -> list[str | None]:
        return self._program.add_gradients(ys, xs, grad_ys)

    def run(self, fetches: Sequence[str], feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return self._program.run(feeds, fetches)
