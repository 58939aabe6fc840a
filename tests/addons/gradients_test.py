# SPDX-License-Identifier: Apache-2.0
"""Gradients of TensorFlow Addons' ops in every client, to second order, against central
differences of TensorFlow Addons' formulas.
"""

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import wrappers
from addons_cases import CASES, Case
from c_client import Client, Graph, tensorflow_dir
from graph_api import GraphApi
from tensorflow.core.framework import graph_pb2, types_pb2

from tensorflow_ext import _library

_Arrays = list[np.ndarray]

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

# ----- What is expected. -----


def _weights(case: Case) -> tuple[_Arrays, _Arrays]:
    """Upstream gradients of the outputs, and of the gradients of first order."""
    rng = np.random.default_rng(1)
    outputs = case.outputs(*case.inputs)
    upstream = [rng.normal(size=y.shape) for y in outputs]
    return upstream, [rng.normal(size=case.inputs[i].shape) for i in case.differentiable]


def _loss(case: Case, inputs: Sequence[np.ndarray], upstream: _Arrays) -> float:
    outputs = case.outputs(*inputs)
    return sum(float((u * y).sum()) for u, y in zip(upstream, outputs, strict=True))


def _first(case: Case, inputs: Sequence[np.ndarray], upstream: _Arrays) -> _Arrays:
    """The derivative by each differentiable input."""
    step = 1e-4
    gradients = []
    for i in case.differentiable:
        gradient = np.empty_like(inputs[i])
        for position in np.ndindex(gradient.shape):
            values = []
            for sign in (1, -1):
                moved = [*inputs]
                moved[i] = inputs[i].copy()
                moved[i][position] += sign * step
                values.append(_loss(case, moved, upstream))
            gradient[position] = (values[0] - values[1]) / (2 * step)
        gradients.append(gradient)
    return gradients


@functools.cache
def _expected(name: str) -> tuple[_Arrays, _Arrays]:
    """First order, and second order by the differentiable inputs and the upstream
    gradients: derivatives are symmetric, so that of the inner product of the first with
    weights is the one of the first along these.
    """
    (case,) = (case for case in CASES if case.name == name)
    upstream, weights = _weights(case)
    step = 1e-3
    ends = []
    for sign in (1, -1):
        moved = [*case.inputs]
        for i, weight in zip(case.differentiable, weights, strict=True):
            moved[i] = moved[i] + sign * step * weight
        ends.append([*_first(case, moved, upstream), *case.outputs(*moved)])
    second = [(a - b) / (2 * step) for a, b in zip(*ends, strict=True)]
    return _first(case, case.inputs, upstream), second


def _check(case: Case, first: Sequence[Any], second: Sequence[Any]) -> None:
    for found, expected in zip((first, second), _expected(case.name), strict=True):
        for value, reference in zip(found, expected, strict=True):
            known = np.zeros_like(reference) if value is None else value
            np.testing.assert_allclose(known, reference, rtol=2e-5, atol=2e-5)


# ----- Python. -----


def _tapes(case: Case, inputs: Any, upstream: Any, weights: Any) -> tuple[Any, Any]:
    xs = [inputs[i] for i in case.differentiable]
    with tf.GradientTape() as outer:
        outer.watch([xs, upstream])
        with tf.GradientTape() as inner:
            inner.watch(xs)
            outputs = wrappers.call(case, inputs)
        first = inner.gradient(outputs, xs, upstream)
        known = [
            (gradient, weight)
            for gradient, weight in zip(first, weights, strict=True)
            if gradient is not None
        ]
    gradients, weights = zip(*known, strict=True)
    return first, outer.gradient(gradients, [*xs, *upstream], [*weights])


def _symbolic(case: Case, inputs: Any, upstream: Any, weights: Any) -> tuple[Any, Any]:
    xs = [inputs[i] for i in case.differentiable]
    first = tf.gradients(wrappers.call(case, inputs), xs, upstream)
    known = [
        (gradient, weight)
        for gradient, weight in zip(first, weights, strict=True)
        if gradient is not None
    ]
    gradients, weights = zip(*known, strict=True)
    return first, tf.gradients(gradients, [*xs, *upstream], [*weights])


_MODES: dict[str, Callable[..., Any]] = {
    "eager": _tapes,
    "function": lambda case, *args: tf.function(partial(_tapes, case))(*args),
    "gradients": lambda case, *args: tf.function(partial(_symbolic, case))(*args),
    "jit_compile": lambda case, *args: tf.function(partial(_tapes, case), jit_compile=True)(*args),
}


@every_case
@pytest.mark.parametrize("mode", _MODES)
def test_python(mode: str, case: Case) -> None:
    inputs = [tf.constant(x) for x in case.inputs]
    upstream, weights = ([tf.constant(x) for x in xs] for xs in _weights(case))
    _check(case, *_MODES[mode](case, inputs, upstream, weights))


# ----- C, and what is built on it. -----


@pytest.fixture(scope="module")
def client() -> Client:
    """The ops are registered by `import tensorflow_ext.addons`, of `wrappers`."""
    return Client(tensorflow_dir(), None)


def _placeholders(graph: graph_pb2.GraphDef, name: str, values: _Arrays) -> list[str]:
    for i in range(len(values)):
        node = graph.node.add(name=f"{name}{i}", op="Placeholder")
        node.attr["dtype"].type = types_pb2.DT_DOUBLE
        node.attr["shape"].shape.unknown_rank = True
    return [f"{name}{i}:0" for i in range(len(values))]


def _feeds(case: Case) -> dict[str, np.ndarray]:
    upstream, weights = _weights(case)
    named = {"x": case.inputs, "u": upstream, "v": weights}
    return {
        f"{name}{i}:0": value for name, values in named.items() for i, value in enumerate(values)
    }


@every_case
def test_c(client: Client, case: Case) -> None:
    upstream, weights = _weights(case)
    graph_def = case.graph(strip_defaults=True)
    us = _placeholders(graph_def, "u", upstream)
    vs = _placeholders(graph_def, "v", weights)
    graph = client.import_graph(graph_def.SerializeToString())
    xs = [f"x{i}:0" for i in case.differentiable]
    first = graph.gradients([f"y:{i}" for i in range(len(us))], xs, us)

    known = {y: v for y, v in zip(first, vs, strict=True) if y is not None}
    api = GraphApi(str(_library.PATH))
    second = api.add_gradients(graph, [*known], xs + us, [*known.values()])
    feeds = _feeds(case)
    _check(case, _values(graph, first, feeds), _values(graph, second, feeds))


def _values(
    graph: Graph, names: Sequence[str | None], feeds: dict[str, np.ndarray]
) -> list[np.ndarray | None]:
    values = iter(graph.run([name for name in names if name], feeds))
    return [next(values) if name else None for name in names]


@every_case
def test_function_runtime(client: Client, case: Case) -> None:
    """SymbolicGradient of a function that holds the node; the function runtime knows no
    absent gradients.
    """
    upstream, _ = _weights(case)
    graph = graph_pb2.GraphDef()
    graph.CopyFrom(case.graph())
    node = graph.node[-1]
    inputs = [graph_node.name for graph_node in graph.node[:-1]]
    us = _placeholders(graph, "u", upstream)

    function = graph.library.function.add()
    function.signature.name = "forward"
    types = [graph_node.attr["dtype"].type for graph_node in graph.node[: len(inputs)]]
    for name, dtype in zip(inputs, types, strict=True):
        function.signature.input_arg.add(name=name, type=dtype)
    function.node_def.add().CopyFrom(node)
    op_def = wrappers.op_def(case.op)
    for i, output in enumerate(op_def.output_arg):
        function.signature.output_arg.add(name=f"r{i}", type=types_pb2.DT_DOUBLE)
        function.ret[f"r{i}"] = f"y:{output.name}:0"

    gradient = graph.node.add(name="gradient", op="SymbolicGradient")
    gradient.input.extend([*inputs, *us])
    gradient.attr["f"].func.name = "forward"
    doubles = [types_pb2.DT_DOUBLE] * len(us)
    gradient.attr["Tin"].list.type.extend(types + doubles)
    gradient.attr["Tout"].list.type.extend(types)
    names = [f"gradient:{i}" for i in case.differentiable]
    imported = client.import_graph(graph.SerializeToString())
    feeds = {k: v for k, v in _feeds(case).items() if not k.startswith("v")}
    expected, _ = _expected(case.name)
    for found, reference in zip(imported.run(names, feeds), expected, strict=True):
        np.testing.assert_allclose(found, reference, rtol=2e-5, atol=2e-5)
