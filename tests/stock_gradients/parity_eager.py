"""The tasks of parity.py in eager mode: the nodes of a case's graph run as ops of TensorFlow's
eager C API, and this library's tapes differentiate them.
"""

import pathlib
from typing import Any

import numpy as np
import parity
import tensorflow as tf
from c_client import Client, ClientError, tensorflow_dir
from eager_client import Context
from eager_graph import EagerGraph, orders
from graph_api import GraphApi
from parity import Case
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2

# The ops of graphs that have no meaning for a program that runs op by op. Cases with them, and
# cases that feed the outputs of ops, are skipped.
_OF_GRAPHS = {"Enter", "Exit", "Merge", "NextIteration", "Switch"}

# The errors of ops that do not run as eager ops, or that no tape can differentiate, and why.
_SHARED = "A tape cannot differentiate op TensorArray"  # All gradients of an array share one array.
_NO_KERNEL = "no registered kernels"  # Graphs replace it before they run.
ERRORS = {
    "AccumulateNV2": _NO_KERNEL,
    "ParallelConcat": "could not be properly replaced",
    "TensorArrayV3": _SHARED,
}
_OLD = "is not available in GraphDef version"  # Only old graphs may have the op.


def _graph_def(task: dict[str, Any]) -> graph_pb2.GraphDef:
    return graph_pb2.GraphDef.FromString(task["graph"])


def reason_against(case: Case, task: dict[str, Any]) -> str | None:
    """The reason why a case is skipped."""
    if case.also_fed:
        return "it feeds outputs of ops, which only graphs can"
    used = {node.op for node in _graph_def(task).node} & _OF_GRAPHS
    return f"only graphs have the control flow of {min(used)}" if used else None


def _error(task: dict[str, Any]) -> str | None:
    """A fragment of the message that eager mode may give instead of gradients."""
    graph_def = _graph_def(task)
    if graph_def.versions.producer < tf.version.GRAPH_DEF_VERSION:
        return _OLD
    return next((ERRORS[node.op] for node in graph_def.node if node.op in ERRORS), None)


def new_client() -> Client:
    """The C API in this process, which has computed all its references in Python: from now on it
    has the library's.
    """
    import tensorflow_ext

    return Client(tensorflow_dir(), f"{tensorflow_ext.sysconfig.get_lib()}/libtensorflow_ext.so")


def _saved_model(
    client: Client, task: dict[str, Any], inlined: bool
) -> tuple[EagerGraph, list[str]]:
    """The nodes of an initialized SavedModel and of the task, and the outputs."""
    folder, ys = pathlib.Path(task["saved_model"]), task["ys"]
    loaded = client.load_saved_model(folder)
    loaded.add(task["graph"])
    if inlined:
        ys = GraphApi(str(client._library)).inline_calls(loaded, ys)
    graph = EagerGraph(Context(client), graph_pb2.GraphDef.FromString(loaded.graph_def()))
    saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    (meta_graph,) = saved.meta_graphs
    saver, signatures = meta_graph.saver_def, meta_graph.signature_def
    prefix = graph.context.tensor(np.array(str(folder / "variables" / "variables"), object))
    graph.run([saver.restore_op_name], {saver.filename_tensor_name: prefix})
    # It fills tables.
    graph.run([op.name for op in signatures["__saved_model_init_op"].outputs.values()], {})
    return graph, ys


def eager_results(client: Client, task: dict[str, Any], inlined: bool = False) -> dict[str, Any]:
    """Like parity_client.client_results, without central differences.

    The calls of a SavedModel run as ops or, if `inlined`, their functions run op by op.
    """
    result: dict[str, Any] = {"first": None, "second": None}
    if "saved_model" in task:
        graph, ys = _saved_model(client, task, inlined)
    else:
        # Variables, functions and generators of random numbers belong to a context.
        graph, ys = EagerGraph(Context(client), _graph_def(task)), task["ys"]
    weights = task["weights"] if task["second_order"] else ()
    found = orders(graph, task["feeds"], ys, task["xs"], task["upstream"], weights)
    try:
        _, result["first"] = next(found), next(found)
    except ClientError as error:
        return {**result, "error": str(error)}
    try:
        result["second"] = next(found, None)
    except ClientError as error:
        result["second_error"] = str(error)
    return result


def problems(client: Client, case: Case, task: dict[str, Any], result: dict[str, Any]) -> list[str]:
    """The faults of the tapes' gradients. `result`: the other client's, whose central differences
    are a reference.
    """
    found = eager_results(client, task)
    differences = {name: value for name, value in result.items() if "numeric" in name}
    faults = parity.judge(case, task, differences | found)
    allowed = _error(task)
    return [] if allowed is not None and allowed in found.get("error", "") else faults
