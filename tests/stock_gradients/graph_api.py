# SPDX-License-Identifier: Apache-2.0
"""The functions of gradient/c_api.h that take a TF_Graph, through ctypes."""

import ctypes
from collections.abc import Sequence
from typing import Any

from c_client import ClientError, Graph, _Output


class GraphApi:
    """What libtensorflow_ext.so, a loaded library, does with a client's graph."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)

    def add_gradients(
        self,
        graph: Graph,
        ys: Sequence[str],
        xs: Sequence[str],
        dys: Sequence[str] = (),
        unconnected: int = 0,
    ) -> list[str | None]:
        """TfExt_AddGradients. None where there is no gradient."""
        found = (_Output * len(xs))()

        def call(status: ctypes.c_void_p) -> None:
            self._library.TfExt_AddGradients(
                graph._graph,
                None,
                graph._outputs(ys),
                len(ys),
                graph._outputs(xs),
                len(xs),
                graph._outputs(dys) if dys else None,
                status,
                found,
                unconnected,
            )

        _checked(graph, call)
        return [_name(graph, output) for output in found]

    def inline_calls(self, graph: Graph, outputs: Sequence[str]) -> list[str]:
        """TfExt_InlineCalls."""
        found = (_Output * len(outputs))()

        def call(status: ctypes.c_void_p) -> None:
            self._library.TfExt_InlineCalls(
                graph._graph, graph._outputs(outputs), len(outputs), found, status
            )

        _checked(graph, call)
        return [str(_name(graph, output)) for output in found]


def _checked(graph: Graph, call: Any) -> None:
    c = graph._c
    status = ctypes.c_void_p(c.TF_NewStatus())
    try:
        call(status)
        code = c.TF_GetCode(status)
        if code != 0:
            raise ClientError(code, c.TF_Message(status).decode(errors="replace"))
    finally:
        c.TF_DeleteStatus(status)


def _name(graph: Graph, output: _Output) -> str | None:
    if not output.operation:
        return None
    graph._c.TF_OperationName.restype = ctypes.c_char_p
    node = graph._c.TF_OperationName(ctypes.c_void_p(output.operation))
    return f"{node.decode()}:{output.index}"
