# SPDX-License-Identifier: Apache-2.0
"""The functions of gradient/c_api.h that take a TF_Graph, through ctypes."""

import ctypes
from collections.abc import Sequence

from c_client import Graph, Output


class GraphApi:
    """The functions of libtensorflow_ext.so, a loaded library, on a client's graph."""

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
        """TfExt_AddGradients. None means no gradient."""
        found = (Output * len(xs))()
        y, x, dy = graph._outputs(ys), graph._outputs(xs), graph._outputs(dys) if dys else None
        with graph._client.status() as status:
            self._library.TfExt_AddGradients(
                graph._graph, None, y, len(y), x, len(x), dy, status, found, unconnected
            )
        return graph._names(found)

    def inline_calls(self, graph: Graph, outputs: Sequence[str]) -> list[str]:
        """TfExt_InlineCalls."""
        found = (Output * len(outputs))()
        with graph._client.status() as status:
            self._library.TfExt_InlineCalls(
                graph._graph, graph._outputs(outputs), len(outputs), found, status
            )
        return [str(name) for name in graph._names(found)]
