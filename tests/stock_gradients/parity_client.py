"""The client process of parity.py: the C API, no TensorFlow Python package.

Its argument is a JSON object with the files of tasks and results, the libraries, TensorFlow's
folder and, if this process is not the client itself, the client's program. It appends each result
at once.
"""

import functools
import json
import pickle
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from _comparison import central_differences
from c_client import UNOPTIMIZED, Client, ClientError, Evaluation, Graph
from graph_api import GraphApi

if TYPE_CHECKING:
    import program_client

AnyClient: TypeAlias = "Client | program_client.Client"
AnyGraph: TypeAlias = "Graph | program_client.Graph"


def client_results(client: AnyClient, task: dict[str, Any]) -> dict[str, Any]:
    """A client's results for a prepared case.

    Returns "first" and "second", lists with an array or None for each input (for "second", upstream
    gradients follow), "first_numeric" and "second_numeric", the derivatives by central differences
    if requested, or else "error" or "second_error", the message.
    """
    result: dict[str, Any] = {"first": None, "second": None}
    xs, upstream, feeds = task["xs"], task["upstream"], task["feeds"]
    by = xs + upstream
    try:
        graph = _graph(client, task)
        firsts = _gradients(graph, task["ys"], xs, upstream)
    except ClientError as error:
        return {**result, "error": str(error)}
    known = [
        (name, weight)
        for name, weight in zip(firsts, task["weights"], strict=True)
        if name is not None and weight is not None
    ]
    names, weights = [name for name, _ in known], [weight for _, weight in known]
    seconds: list[str | None] = []
    try:
        if task["second_order"]:
            nothing: list[str | None] = [None] * len(by)
            seconds = _gradients(graph, names, by, weights) if known else nothing
    except ClientError as error:
        result["second_error"] = str(error)
    try:
        # Both in one run, because each new set of tensors optimizes the graph again.
        try:
            values = _run_some(graph, [*firsts, *seconds], feeds)
        except ClientError as error:
            values = _run_some(graph, firsts, feeds)
            result["second_error"] = str(error)
            seconds = []
        result["first"] = values[: len(firsts)]
        result["second"] = values[len(firsts) :] if seconds else None
        numeric_first, numeric_second = task["numeric"]
        sums = {}
        if numeric_first:
            sums["first_numeric"] = (task["ys"], upstream)
        if numeric_second and seconds and known:
            sums["second_numeric"] = (names, weights)
        if sums:
            by = by if "second_numeric" in sums else xs
            result |= _differences(graph, sums, by, task)
        if numeric_first:
            result["first_numeric"] = result["first_numeric"][: len(xs)]
    except ClientError as error:
        result["error"] = str(error)
    return result


def function_runtime_results(client: Client, task: dict[str, Any]) -> dict[str, Any]:
    """The function runtime's results by SymbolicGradient: "function", a list with an array
    for each input, or else "function_error".
    """
    try:
        graph = _optimized(client.import_graph(task["function_runtime"]), task)
        return {"function": graph.run(task["function_gradients"], task["feeds"])}
    except ClientError as error:
        if task.get("optimized", True):
            return {"function_error": str(error)}
        # If a function calls an op that has no kernel, Grappler may have replaced it.
        return function_runtime_results(client, task | {"optimized": True})


def inlined_results(client: Client, api: GraphApi, task: dict[str, Any]) -> dict[str, Any]:
    """The same for a SavedModel with inlined calls: "inlined", the gradients of first
    order, or else "inlined_error".
    """
    try:
        graph = _graph(client, task)
        assert isinstance(graph, Graph)
        ys = api.inline_calls(graph, task["ys"])
        names = _gradients(graph, ys, task["xs"], task["upstream"])
        return {"inlined": _run_some(graph, names, task["feeds"])}
    except ClientError as error:
        return {"inlined_error": str(error)}


def _graph(client: AnyClient, task: dict[str, Any]) -> AnyGraph:
    """The nodes of the task, alone or added to those of a SavedModel."""
    if "saved_model" not in task:
        return _optimized(client.import_graph(task["graph"]), task)
    graph = client.load_saved_model(task["saved_model"])
    graph.add(task["graph"])
    return graph


def _optimized(graph: AnyGraph, task: dict[str, Any]) -> AnyGraph:
    """The graph, which Grappler does not rewrite if the task says so."""
    optimized = task.get("optimized", True) or task["needs_grappler"]
    if isinstance(graph, Graph) and not optimized:
        graph.config = UNOPTIMIZED
    return graph


def _gradients(
    graph: AnyGraph, ys: Sequence[str], xs: Sequence[str], weights: Sequence[str]
) -> list[str | None]:
    """Like Graph.gradients; None for an x without a path to a y.

    TF_AddGradients refuses the whole call there, before it adds a node, and names one.
    """
    refused: set[str] = set()
    while reachable := [x for x in xs if x.rpartition(":")[0] not in refused]:
        try:
            found = iter(graph.gradients(ys, reachable, weights))
        except ClientError as error:
            if not (named := re.search("node '(.*)' as it's unreachable", str(error))):
                raise
            refused.add(named[1])
        else:
            return [next(found) if x in reachable else None for x in xs]
    return [None] * len(xs)


def _run_some(
    graph: AnyGraph, names: Sequence[str | None], feeds: dict[str, np.ndarray]
) -> list[np.ndarray | None]:
    known = [name for name in names if name is not None]
    values = iter(graph.run(known, feeds)) if known else iter(())
    return [None if name is None else next(values) for name in names]


def _differences(
    graph: AnyGraph,
    sums: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    by: Sequence[str],
    task: dict[str, Any],
) -> dict[str, list[Any]]:
    """Central differences of sums by each of `by`, all from the same runs.

    A sum is that of Re <w_k, y_k>, named by the tensors y and those fed as w. The result has slopes
    or, if the task requests every direction, gradients.
    """
    assert isinstance(graph, Graph)  # programs are not asked for them
    feeds, every = task["feeds"], task.get("every_direction", False)
    fetches = [y for ys, _ in sums.values() for y in ys]
    evaluation = Evaluation(graph, fetches, feeds, task["needs_grappler"])
    weights = [[feeds[w] for w in ws] for _, ws in sums.values()]

    def terms(name: str, value: np.ndarray) -> list[list[np.ndarray]]:
        values = iter(evaluation.at(name, value))
        return [[next(values) for _ in of_one] for of_one in weights]

    results: dict[str, list[Any]] = {name: [] for name in sums}
    for handle_or_x in by:
        x = handle_or_x.replace("_handle", "")  # the tensor that is fed
        evaluate = functools.partial(terms, x)
        found = central_differences(evaluate, weights, feeds[x], task["step"], every)
        for slopes, of_all in zip(found, results.values(), strict=True):
            of_all.append(slopes.gradient() if every else slopes)
    return results


def _c_results(client: Client, settings: dict[str, Any], task: Any) -> dict[str, Any]:
    """Results that only this process computes, because programs lack the functions."""
    results: dict[str, Any] = {}
    if "function_runtime" in task:
        results |= function_runtime_results(client, task)
    if task.get("inlined"):
        results |= inlined_results(client, GraphApi(settings["library"]), task)
    return results


def main() -> None:
    settings = json.loads(sys.argv[1])
    client: AnyClient
    if settings["program"] is None:
        client = Client(settings["tensorflow"], settings["library"])
    else:
        import program_client

        client = program_client.Client(settings["program"], settings["library"])
    if settings["kernels"] is not None:
        client.load(settings["kernels"])
    with open(settings["tasks"], "rb") as file:
        tasks = pickle.load(file)
    with open(settings["results"], "wb") as file:
        for task in tasks:
            result = client_results(client, task)
            if isinstance(client, Client):
                result |= _c_results(client, settings, task)
            pickle.dump(result, file)
            file.flush()
    if "tensorflow" in sys.modules:
        raise RuntimeError("the client process imported TensorFlow's Python package")


if __name__ == "__main__":
    main()
