"""Two threads of every program differentiate at once, each its own graph."""

import case_files
import graph_defs
import judge
import numpy as np
import pytest
import tensorflow as tf
from client_process import ClientProcess
from references import reference
from sampling import is_turn_of_commit

_THREADS = 2
# The first case of each op that is judged in double; all numbers are the same for all programs.
_CASES = {
    case.op: case
    for case in reversed(case_files.read_all())
    if not case.error and "double" in case.types
}


@pytest.mark.parametrize("language", judge.PROGRAMS)
def test_threads(language: str) -> None:
    client = judge.find_client(language)
    assert isinstance(client, ClientProcess)
    compared = set()
    for case in _CASES.values():
        if not is_turn_of_commit(f"threads {language} {case.op}", 3):
            continue
        problem = reference(case, "double").problem
        expected = client(problem).gradients
        graph = graph_defs.CaseGraph(problem)
        pairs = zip(graph.inputs, expected, strict=False)
        by_input = {x: value for x, value in pairs if x and value is not None}
        if not by_input:
            continue
        differentiated = zip(graph.outputs, graph.upstreams, strict=True)
        ys = {y: dy for y, dy in differentiated if dy}
        found = client.run_in_threads(
            _THREADS,
            graph.graph_def.SerializeToString(),
            list(ys),
            list(by_input),
            list(ys.values()),
            graph.feeds,
        )
        assert len(found) == _THREADS
        for gradients in found:
            for gradient, value in zip(gradients, by_input.values(), strict=True):
                np.testing.assert_array_equal(gradient, value, case.id)
        compared.add(case.op)
    assert len(compared) > 5


@pytest.mark.parametrize("language", judge.PROGRAMS)
def test_an_error_in_a_thread_is_an_error(language: str) -> None:
    client = judge.find_client(language)
    assert isinstance(client, ClientProcess)
    graph = graph_defs.CaseGraph(reference(_CASES["TfExt>RoiPool"], "double").problem)
    right = graph.graph_def.SerializeToString()
    (node,) = (node for node in graph.graph_def.node if node.op == "TfExt>RoiPool")
    node.attr["pooled_height"].i = -1
    wrong = graph.graph_def.SerializeToString()
    with pytest.raises(tf.errors.InvalidArgumentError, match="pooled_height"):
        client.run_in_threads(2, wrong, ["op:0"], ["input_0:0"], ["upstream_0:0"], {})
    client.import_graph(right)  # The client continues.
