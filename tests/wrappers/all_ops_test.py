"""Every wrapper of every op, called in each language, makes the node that the OpDef
describes. all_ops.py describes the programs."""

import os
import pathlib
import subprocess

import commands
import pytest
from calls import Call, calls, faults, has_no_function
from tensorflow.core.framework import graph_pb2, types_pb2

from tensorflow_ext_codegen import op_interface, wrappers

PROGRAMS = dict(pair.split("=") for pair in os.environ["PROGRAMS"].split())
KINDS_PROGRAMS = dict(pair.split("=") for pair in os.environ["KINDS_PROGRAMS"].split())
# Languages whose binding sets no attribute that is a function.
WITHOUT_FUNCTIONS = {"Go"}


def _graph(program: str, folder: pathlib.Path, *further_libraries: str) -> graph_pb2.GraphDef:
    """The graph that a program makes of its ops."""
    out = folder / "graph"
    commands.run(program, os.environ["LIBRARY"], *further_libraries, out)
    return graph_pb2.GraphDef.FromString(out.read_bytes())


def _calls(*libraries: str) -> list[Call]:
    """Calls of the ops of these libraries, or of this library's own."""
    return calls(op_interface.describe_all(wrappers.read_op_defs(libraries)))


@pytest.mark.parametrize("language", PROGRAMS)
def test_own_ops(language: str, tmp_path: pathlib.Path) -> None:
    graph = _graph(PROGRAMS[language], tmp_path)
    expected = _calls()
    assert len(expected) > 100
    assert not list(faults(graph, expected))


@pytest.fixture(scope="module")
def kinds_calls() -> list[Call]:
    return _calls(os.environ["KINDS"])


@pytest.mark.parametrize("language", KINDS_PROGRAMS)
def test_ops_of_every_kind(language: str, kinds_calls: list[Call], tmp_path: pathlib.Path) -> None:
    graph = _graph(KINDS_PROGRAMS[language], tmp_path, os.environ["KINDS"])
    expected = kinds_calls
    types = {(a.type, a.is_list) for call in expected for a, _ in call.required + call.optional}
    assert len(types) == 2 * len(op_interface.FIELDS)
    if language in WITHOUT_FUNCTIONS:
        expected = [call for call in expected if has_no_function(call)]
    assert not list(faults(graph, expected))


def test_without_the_library(tmp_path: pathlib.Path) -> None:
    done = subprocess.run(
        [PROGRAMS["C++"], tmp_path / "graph"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "there is no op 'TfExt>" in done.stderr
    assert "load it with Env::LoadDynamicLibrary" in done.stderr


def test_faults_are_noticed(tmp_path: pathlib.Path) -> None:
    language = next(iter(PROGRAMS))
    graph = _graph(PROGRAMS[language], tmp_path)
    nodes = {node.name: node for node in graph.node}
    node = nodes["RoiPool.given"]
    node.attr["pooled_height"].i, node.attr["pooled_width"].i = (
        node.attr["pooled_width"].i,
        node.attr["pooled_height"].i,
    )
    node.input[:] = reversed(node.input)
    nodes["Gelu.default"].op = "TfExt>Mish"
    nodes["Relu.given"].attr["other"].i = 1
    nodes["RoiPool.default.out.argmax.0"].input[:] = ["RoiPool.default"]
    nodes["Mish.default.out.y.0"].attr["T"].type = types_pb2.DT_STRING
    graph.node.remove(nodes["LayerNorm.given"])
    graph.node.add(name="more", op="NoOp")
    found = list(faults(graph, _calls()))
    for name, count in {
        "RoiPool.given": 3,
        "Gelu.default": 1,
        "Relu.given": 1,
        "RoiPool.default.out.argmax.0": 1,
        "Mish.default.out.y.0": 1,
        "LayerNorm.given": 1,
        "more": 1,
    }.items():
        assert sum(fault.startswith(f"{name}: ") for fault in found) == count, found
