"""TensorFlow's C API through ctypes, enough to differentiate and run a graph.

It does not import TensorFlow's Python package, so its results are those that a client in any
language gets from TF_AddGradients.
"""

import ctypes
import importlib.util
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import c_tensors
import numpy as np

# Imported without the package, which loads the library.
_HERE = pathlib.Path(__file__).absolute().parent
sys.path.append(str(_HERE.parents[1] / "python" / "tensorflow_ext" / "testing" / "_op"))
import _c_api  # noqa: E402
from _c_api import Output  # noqa: E402

_LIBRARY = "libtensorflow_cc.so.2"
# ConfigProto with graph_options.rewrite_options.disable_meta_optimizer, because Grappler takes
# longer than most runs of a small graph.
UNOPTIMIZED = b"R\x05R\x03\x98\x01\x01"


class _WhileParams(ctypes.Structure):
    _fields_ = [
        ("number", ctypes.c_int),
        ("cond_graph", ctypes.c_void_p),
        ("cond_inputs", ctypes.POINTER(Output)),
        ("cond_output", Output),
        ("body_graph", ctypes.c_void_p),
        ("body_inputs", ctypes.POINTER(Output)),
        ("body_outputs", ctypes.POINTER(Output)),
        ("name", ctypes.c_char_p),
    ]


# The return types of functions that do not return int, besides those of _c_api.
_RESULTS: dict[Any, str] = {
    ctypes.c_void_p: "TF_NewSession TF_NewSessionOptions TF_GraphNextOperation TF_AllocateTensor "
    "TF_TensorData TF_LoadLibrary TF_LoadSessionFromSavedModel",
    ctypes.c_int64: "TF_Dim",
    _WhileParams: "TF_NewWhile",
}


def tensorflow_dir() -> pathlib.Path:
    """The folder of TensorFlow's shared libraries, without importing it."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("TensorFlow is not installed")
    # After its import, the package also has folders of Keras.
    folders = [pathlib.Path(path) for path in spec.submodule_search_locations]
    return next(path for path in folders if (path / _LIBRARY).is_file())


class ClientError(Exception):
    """A status that is not OK, with its code of tf_status.h."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Client(_c_api.Api):
    """A process' view of the C API with an op library loaded into it.

    Args:
      tensorflow_dir: the folder of TensorFlow's shared libraries.
      library: the op library to load, if any.
    """

    def __init__(
        self, tensorflow_dir: str | pathlib.Path, library: str | pathlib.Path | None
    ) -> None:
        folder = pathlib.Path(tensorflow_dir)
        ctypes.CDLL(str(folder / "libtensorflow_framework.so.2"), ctypes.RTLD_GLOBAL)
        super().__init__(ctypes.CDLL(str(folder / _LIBRARY), ctypes.RTLD_GLOBAL), ClientError)
        self._library = None if library is None else str(library)
        self._declare(_RESULTS)
        if library is not None:
            self.load(library)

    def load(self, library: str | pathlib.Path) -> None:
        """Loads one more op library."""
        self._checked("TF_LoadLibrary", str(library).encode())

    def import_graph(self, graph_def: bytes) -> "Graph":
        """A new graph with the nodes of a serialized GraphDef."""
        graph = Graph(self)
        graph.add(graph_def)
        return graph

    def load_saved_model(self, folder: str | pathlib.Path, handed_over: bool = True) -> "Graph":
        """The graph of a SavedModel, with the session that holds its variables.

        If the model is handed over, the gradients that it brings are used.
        """
        graph = Graph(self)
        meta_graph = graph._load(folder)
        try:
            if handed_over and self._library is not None:
                with self.status() as status:
                    ctypes.CDLL(self._library).TfExt_UseModelGradients(
                        graph._graph, meta_graph, status
                    )
        finally:
            self._c.TF_DeleteBuffer(meta_graph)
        return graph


class Graph(_c_api.Graph):
    """A TF_Graph; made by a `Client`. Tensors are "node:index".

    Attributes:
      config: The session's: a serialized ConfigProto.
    """

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.config = b""
        # The first run makes it; it sees nodes that are added later.
        self._session: ctypes.c_void_p | None = None

    def _load(self, folder: str | pathlib.Path) -> ctypes.c_void_p:
        """Does what TF_LoadSessionFromSavedModel does without options; returns its MetaGraphDef."""
        tags = (ctypes.c_char_p * 1)(b"serve")
        options = ctypes.c_void_p(self._c.TF_NewSessionOptions())
        path = str(folder).encode()
        meta_graph = ctypes.c_void_p(self._c.TF_NewBuffer())
        try:
            session = self._client._checked(
                "TF_LoadSessionFromSavedModel",
                options,
                None,
                path,
                tags,
                1,
                self._graph,
                meta_graph,
            )
            self._session = ctypes.c_void_p(session)
        finally:
            self._c.TF_DeleteSessionOptions(options)
        return meta_graph

    def while_loop(self, inputs: Sequence[str], cond: bytes, body: bytes) -> list[str]:
        """Adds a loop of TensorFlow 1 with TF_NewWhile.

        Args:
          inputs: The initial values of the loop variables.
          cond: A serialized GraphDef that makes y0 of placeholders x0, x1, ...
          body: One that makes y0, y1, ... of them.

        Returns the loop variables after the loop.
        """
        count = len(inputs)
        checked = self._client._checked
        starts = self._outputs(inputs)  # TF_FinishWhile reads these again
        params: Any = checked("TF_NewWhile", self._graph, starts, ctypes.c_int(count))
        params.name = b"loop"
        graph, variables = params.cond_graph, params.cond_inputs
        (params.cond_output,) = self._import_into(graph, cond, variables, count, 1)
        graph, variables = params.body_graph, params.body_inputs
        results = self._import_into(graph, body, variables, count, count)
        for i, result in enumerate(results):
            params.body_outputs[i] = result
        outputs = (Output * count)()
        with self._client.status() as status:
            self._c.TF_FinishWhile(ctypes.byref(params), status, outputs)
        return [str(name) for name in self._names(outputs)]

    def _import_into(
        self, graph: int, graph_def: bytes, inputs: Any, count: int, results: int
    ) -> list[Output]:
        """Replaces the placeholders by `inputs`; returns y0, y1, ..."""
        buffer = ctypes.c_void_p(self._c.TF_NewBufferFromString(graph_def, len(graph_def)))
        options = ctypes.c_void_p(self._c.TF_NewImportGraphDefOptions())
        self._c.TF_ImportGraphDefOptionsSetPrefix(options, b"imported")
        add_input = self._c.TF_ImportGraphDefOptionsAddInputMapping
        add_input.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, Output]
        for i in range(count):
            add_input(options, f"x{i}".encode(), 0, inputs[i])
        for i in range(results):
            self._c.TF_ImportGraphDefOptionsAddReturnOutput(options, f"y{i}".encode(), 0)
        outputs = (Output * results)()
        try:
            function, into = "TF_GraphImportGraphDefWithReturnOutputs", ctypes.c_void_p(graph)
            self._client._checked(function, into, buffer, options, outputs, results)
        finally:
            self._c.TF_DeleteImportGraphDefOptions(options)
            self._c.TF_DeleteBuffer(buffer)
        return list(outputs)

    def nodes(self) -> int:
        """The number of nodes in the graph."""
        count = 0
        position = ctypes.c_size_t(0)
        while self._c.TF_GraphNextOperation(self._graph, ctypes.byref(position)):
            count += 1
        return count

    def run(
        self, fetches: Sequence[str], feeds: Mapping[str, np.ndarray], targets: Sequence[str] = ()
    ) -> list[np.ndarray]:
        """Runs the graph, and the nodes `targets`, once; returns the fetched values."""
        values = [c_tensors.to_tensor(self._c, value) for value in feeds.values()]
        try:
            return self._run(
                self._outputs(list(feeds)),
                values,
                self._outputs(list(fetches)),
                [output.operation for output in self._outputs(targets)],
            )
        finally:
            for tensor in values:
                self._c.TF_DeleteTensor(ctypes.c_void_p(tensor))

    def _run(
        self,
        inputs: ctypes.Array,
        values: Sequence[int],
        outputs: ctypes.Array,
        targets: Sequence[int] = (),
        options: ctypes.c_void_p | None = None,
        session: ctypes.c_void_p | None = None,
    ) -> list[np.ndarray]:
        if session is None:
            self._session = session = self._session or self._new_session(self.config)
        results = (ctypes.c_size_t * len(outputs))()  # addresses
        fed = inputs, (ctypes.c_void_p * len(values))(*values), len(values)
        fetched = outputs, results, len(outputs)
        run = (ctypes.c_void_p * len(targets))(*targets), len(targets)
        self._client._checked("TF_SessionRun", session, options, *fed, *fetched, *run, None)
        return [c_tensors.to_array(self._c, value) for value in results]

    def _new_session(self, config: bytes) -> ctypes.c_void_p:
        options = ctypes.c_void_p(self._c.TF_NewSessionOptions())
        try:
            size = ctypes.c_size_t(len(config))
            self._client._checked("TF_SetConfig", options, config, size)
            return ctypes.c_void_p(self._client._checked("TF_NewSession", self._graph, options))
        finally:
            self._c.TF_DeleteSessionOptions(options)

    def _delete_session(self, session: ctypes.c_void_p) -> None:
        self._client._checked("TF_CloseSession", session)
        self._client._checked("TF_DeleteSession", session)

    def __del__(self) -> None:
        if self._session is not None:
            self._delete_session(self._session)
        super().__del__()


# RunOptions with inter_op_thread_pool = -1: the kernels run in the calling thread. They are small
# here, and waking another thread would take most of the time.
_IN_THIS_THREAD = b"\x18" + b"\xff" * 9 + b"\x01"


class Evaluation:
    """Runs of a graph like those of `Graph.run` that differ in one of the values fed."""

    def __init__(
        self,
        graph: Graph,
        fetches: Sequence[str],
        feeds: Mapping[str, np.ndarray],
        optimized: bool = True,
    ) -> None:
        self._graph = graph
        self._c = c = graph._c
        self._inputs = graph._outputs(list(feeds))
        self._outputs = graph._outputs(list(fetches))
        self._tensors = {name: c_tensors.to_tensor(c, v) for name, v in feeds.items()}
        options = c.TF_NewBufferFromString(_IN_THIS_THREAD, len(_IN_THIS_THREAD))
        self._options = ctypes.c_void_p(options)
        self._session = graph._new_session(b"" if optimized else UNOPTIMIZED)

    def do(self, node: str) -> None:
        """Runs a node, such as the initializer of a variable."""
        none = self._graph._outputs([])
        (target,) = self._graph._outputs([node])
        self._graph._run(none, (), none, [target.operation], None, self._session)

    def at(self, name: str, value: np.ndarray) -> list[np.ndarray]:
        """The fetched values if `value` replaces the one fed to `name`."""
        tensor = c_tensors.to_tensor(self._c, value)
        tensors = {**self._tensors, name: tensor}
        try:
            values = list(tensors.values())
            return self._graph._run(
                self._inputs, values, self._outputs, (), self._options, self._session
            )
        finally:
            self._c.TF_DeleteTensor(ctypes.c_void_p(tensor))

    def __del__(self) -> None:
        self._graph._delete_session(self._session)
        self._c.TF_DeleteBuffer(self._options)
        for tensor in self._tensors.values():
            self._c.TF_DeleteTensor(ctypes.c_void_p(tensor))
