# SPDX-License-Identifier: Apache-2.0
"""The tasks of parity.py in eager mode: the nodes of a case's graph run as ops of TensorFlow's
eager C API, and this library's tapes differentiate them.
"""

from typing import Any

import tensorflow as tf
from c_client import Client, ClientError
from eager_client import Context
from eager_graph import EagerGraph, orders
from parity import Case
from tensorflow.core.framework import graph_pb2

_OF_GRAPHS = "only graphs have its control flow"
_REWRITTEN = "no kernel computes it: graphs replace it before they run"
_LOST = "its state is in a container that eager mode deletes after each op"
# Ops that do not run as eager ops, and why.
NOT_EAGER = {
    **dict.fromkeys(("Enter", "Exit", "Merge", "NextIteration", "Switch"), _OF_GRAPHS),
    **dict.fromkeys(("AccumulateNV2", "ParallelConcat"), _REWRITTEN),
}


def reason_against(case: Case, task: dict[str, Any]) -> str | None:
    """The reason why a case does not run eagerly."""
    if case.also_fed:
        return "its op has no kernel: a graph's outputs can be fed, those of an eager op cannot"
    graph_def = graph_pb2.GraphDef.FromString(task["graph"])
    if graph_def.versions.producer < tf.version.GRAPH_DEF_VERSION:
        return "only old graphs may have its op"
    return next((NOT_EAGER[node.op] for node in graph_def.node if node.op in NOT_EAGER), None)


def eager_results(client: Client, task: dict[str, Any]) -> dict[str, Any]:
    """Like parity_client.client_results, without central differences."""
    result: dict[str, Any] = {"first": None, "second": None}
    # Variables, functions and generators of random numbers belong to a context.
    graph = EagerGraph(Context(client), graph_pb2.GraphDef.FromString(task["graph"]))
    weights = task["weights"] if task["second_order"] else ()
    found = orders(graph, task["feeds"], task["ys"], task["xs"], task["upstream"], weights)
    try:
        _, result["first"] = next(found), next(found)
    except ClientError as error:
        return {**result, "error": str(error)}
    try:
        result["second"] = next(found, None)
    except ClientError as error:
        result["second_error"] = str(error)
    return result
