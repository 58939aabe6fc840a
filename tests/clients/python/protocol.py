"""The judge's side of the protocol that tests/clients/README.md describes.

It does not import TensorFlow's Python package.
"""

import abc
import os
import pathlib
import struct
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np

sys.path.append(str(pathlib.Path(__file__).absolute().parents[3] / "bindings"))

import languages

STRING = 7  # TF_STRING; arrays of objects of type `str` or `bytes`

# C and C++, which every test needs, and the languages whose toolchain is installed.
PROGRAMS = languages.with_program("client")
LEFT_OUT = tuple(languages.LANGUAGES.keys() - PROGRAMS)


def find_program(language: str) -> pathlib.Path:
    """The client of a language.

    Raises:
      FileNotFoundError: It is not built.
    """
    return languages.find(language, "client")


def _int(number: int) -> bytes:
    return struct.pack("<q", number)


def _bytes(content: bytes) -> bytes:
    return _int(len(content)) + content


def _name(name: str) -> bytes:
    return _bytes(name.encode())


def _list(items: Iterable[bytes]) -> bytes:
    content = list(items)
    return _int(len(content)) + b"".join(content)


def _names(names: Sequence[str]) -> bytes:
    return _list(map(_name, names))


def encode_tensor(enum: int, array: np.ndarray) -> bytes:
    """A tensor in the form of requests and answers, of this TF_DataType."""
    dims = _list(map(_int, array.shape))
    if enum != STRING:
        return _int(enum) + dims + _bytes(array.tobytes())
    strings = [s.encode() if isinstance(s, str) else s for s in array.flat]
    return _int(enum) + dims + _list(map(_bytes, strings))


class Program(abc.ABC):
    """A client's process with its current graph. Tensors are "node:index".

    Every method raises `error` if TensorFlow refuses something, and RuntimeError if the process has
    ended.

    Attributes:
      types: NumPy's types by TF_DataType of c/tf_datatype.h, except strings.

    Args:
      path: The program.
      library: The op library that it loads; None for TensorFlow's ops only.
    """

    types: ClassVar[Mapping[int, np.dtype]]

    def __init__(self, path: str | pathlib.Path, library: str | pathlib.Path | None) -> None:
        self._path = path
        self._process = subprocess.Popen(
            [path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # TensorFlow's errors come back as a status.
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        if library is not None:
            self.load(library)

    @abc.abstractmethod
    def error(self, code: int, message: str) -> Exception:
        """The exception for a status that is not OK, by its code in tf_status.h."""

    def load(self, library: str | pathlib.Path) -> None:
        """Loads one more op library."""
        self._ask("library", _name(str(library)))

    def import_graph(self, graph_def: bytes) -> None:
        """Makes a serialized GraphDef the current graph."""
        self._ask("import", _bytes(graph_def))

    def add(self, graph_def: bytes) -> None:
        """Adds the nodes of a serialized GraphDef to the current graph."""
        self._ask("add", _bytes(graph_def))

    def load_saved_model(self, folder: str | pathlib.Path) -> None:
        """Makes the SavedModel's graph the current one, with its variables."""
        self._ask("saved_model", _name(str(folder)))

    def connect(self, target: str) -> None:
        """The target for sessions of graphs that are imported from now on."""
        self._ask("connect", _name(target))

    def export_graph(self) -> bytes:
        """The current graph, including everything that was added to it, as a GraphDef."""
        self._ask("export")
        return self._read_bytes()

    def add_gradients(
        self, ys: Sequence[str], xs: Sequence[str], grad_ys: Sequence[str]
    ) -> list[str | None]:
        """Adds gradients to the graph: a tensor for each x, or None."""
        self._ask("gradients", _names(ys), _names(xs), _names(grad_ys))
        names = [self._read_bytes().decode() for _ in range(self._read_int())]
        return [name or None for name in names]

    def run(self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]) -> list[np.ndarray]:
        """Runs the graph once in a session with default options."""
        self._ask("run", self._feeds(feeds), _names(fetches))
        return self._read_tensors()

    def run_in_threads(
        self,
        count: int,
        graph_def: bytes,
        ys: Sequence[str],
        xs: Sequence[str],
        grad_ys: Sequence[str],
        feeds: Mapping[str, np.ndarray],
    ) -> list[list[np.ndarray]]:
        """The gradients by each x, as each of several concurrent threads computes them.

        Each thread has its own graph and session.
        """
        self._ask(
            "threads",
            _int(count),
            _bytes(graph_def),
            _names(ys),
            _names(xs),
            _names(grad_ys),
            self._feeds(feeds),
        )
        return [self._read_tensors() for _ in range(self._read_int())]

    def run_eagerly(
        self,
        op: str,
        attributes: Mapping[str, bytes],
        inputs: Sequence[np.ndarray],
        xs: Sequence[int],
        upstreams: Mapping[int, np.ndarray],
        weights: Mapping[int, np.ndarray],
    ) -> tuple[list[np.ndarray], ...]:
        """The outputs of an op in eager mode, their gradients by a tape, and the gradients of these
        by another tape.

        Args:
          op: The op.
          attributes: A serialized AttrValue for each of its attributes.
          inputs: Its inputs.
          xs: The inputs that have gradients.
          upstreams: Upstream gradients by the output. Without them, there are no gradients.
          weights: Upstream gradients of the gradients, by the place among xs. With them, there are
            second gradients, by the xs and the upstream gradients.
        """
        self._ask(
            "eager",
            _name(op),
            _list(_name(name) + _bytes(value) for name, value in attributes.items()),
            _list(map(self._tensor, inputs)),
            _list(map(_int, xs)),
            *(
                _list(_int(index) + self._tensor(array) for index, array in given.items())
                for given in (upstreams, weights)
            ),
        )
        return tuple(self._read_tensors() for _ in range(3))

    def _tensor(self, array: np.ndarray) -> bytes:
        enums = {dtype: enum for enum, dtype in self.types.items()}
        return encode_tensor(enums.get(array.dtype, STRING), array)

    def _feeds(self, feeds: Mapping[str, np.ndarray]) -> bytes:
        return _list(_name(name) + self._tensor(array) for name, array in feeds.items())

    def close(self) -> int:
        """Ends the process; returns its exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait()

    def _ask(self, request: str, *arguments: bytes) -> None:
        """Sends a request and reads the status at the beginning of the answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(_name(request) + b"".join(arguments))
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # _read reports how the process ended.
        code = self._read_int()
        if code:
            raise self.error(code, self._read_bytes().decode(errors="replace"))

    def _read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        content = self._process.stdout.read(size)
        if len(content) < size:
            status = self._process.wait()
            raise RuntimeError(f"{self._path} ended with exit status {status}")
        return content

    def _read_int(self) -> int:
        (number,) = struct.unpack("<q", self._read(8))
        return number

    def _read_bytes(self) -> bytes:
        return self._read(self._read_int())

    def _read_tensor(self) -> np.ndarray:
        enum = self._read_int()
        shape = [self._read_int() for _ in range(self._read_int())]
        if enum == STRING:
            strings = [self._read_bytes() for _ in range(self._read_int())]
            return np.array(strings, object).reshape(shape)
        return np.frombuffer(self._read_bytes(), self.types[enum]).reshape(shape)

    def _read_tensors(self) -> list[np.ndarray]:
        return [self._read_tensor() for _ in range(self._read_int())]
