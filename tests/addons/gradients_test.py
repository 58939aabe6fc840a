"""Gradients of TensorFlow Addons' ops in every client, to second order.

check_gradient compares Python's gradients with central differences of the ops' values, which
values_test.py compares with TensorFlow Addons' formulas. The other clients must give Python's
numbers.
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
from commit_sampling import share_of_commit
from graph_api import GraphApi
from tensorflow.core.framework import attr_value_pb2, graph_pb2, types_pb2
from tensorflow.python.ops import gen_functional_ops

from tensorflow_ext._runtime import _library
from tensorflow_ext.testing import check_gradient

_Arrays = list[np.ndarray]

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

# ----- Python. -----


@every_case
def test_differences(case: Case) -> None:
    def call(*inputs: tf.Tensor) -> list[tf.Tensor]:
        return wrappers.call(case, inputs)

    # Differentiates some elements one by one, and all of them along a few directions.
    options = {"elements": 8, "batched": False, "forward": False}
    check_gradient(call, [*case.inputs], modes=["eager"], **options)


def _weights(case: Case) -> tuple[_Arrays, _Arrays]:
    """Upstream gradients of the outputs, and of the gradients of first order."""
    rng = np.random.default_rng(1)
    outputs = case.outputs(*case.inputs)
    upstream = [rng.normal(size=y.shape) for y in outputs]
    return upstream, [rng.normal(size=case.inputs[i].shape) for i in case.differentiable]


def _known(first: Sequence[Any], weights: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The gradients that are not None, and their weights."""
    there = [i for i, gradient in enumerate(first) if gradient is not None]
    return [first[i] for i in there], [weights[i] for i in there]


def _tapes(case: Case, inputs: Any, upstream: Any, weights: Any) -> tuple[Any, Any]:
    """First order, and second order by the differentiable inputs and the upstream gradients."""
    xs = [inputs[i] for i in case.differentiable]
    with tf.GradientTape() as outer:
        outer.watch([xs, upstream])
        with tf.GradientTape() as inner:
            inner.watch(xs)
            outputs = wrappers.call(case, inputs)
        first = inner.gradient(outputs, xs, upstream)
    gradients, weights = _known(first, weights)
    return first, outer.gradient(gradients, [*xs, *upstream], weights)


def _symbolic(case: Case, inputs: Any, upstream: Any, weights: Any) -> tuple[Any, Any]:
    xs = [inputs[i] for i in case.differentiable]
    first = tf.gradients(wrappers.call(case, inputs), xs, upstream)
    gradients, weights = _known(first, weights)
    return first, tf.gradients(gradients, [*xs, *upstream], weights)


def _tensors(case: Case) -> list[list[tf.Tensor]]:
    return [[tf.constant(x) for x in xs] for xs in (case.inputs, *_weights(case))]


@functools.cache
def _expected(name: str) -> tuple[Any, Any]:
    (case,) = (case for case in CASES if case.name == name)
    return _tapes(case, *_tensors(case))


def _check(case: Case, *found: Sequence[Any]) -> None:
    """Compares gradients of first and second order; None counts as zero."""
    for values, references in zip(found, _expected(case.name), strict=True):
        for value, reference in zip(values, references, strict=True):
            known = [np.float64(0) if x is None else x for x in (value, reference)]
            np.testing.assert_allclose(*np.broadcast_arrays(*known), rtol=1e-9, atol=1e-12)


_MODES: dict[str, Callable[..., Any]] = {
    "function": lambda case, *args: tf.function(partial(_tapes, case))(*args),
    "gradients": lambda case, *args: tf.function(partial(_symbolic, case))(*args),
    "jit_compile": lambda case, *args: tf.function(partial(_tapes, case), jit_compile=True)(*args),
}


@pytest.mark.parametrize(
    ("mode", "case"),
    [
        (mode, case)
        for mode in _MODES
        for case in (share_of_commit(mode, CASES, 4) if mode == "jit_compile" else CASES)
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_modes(mode: str, case: Case) -> None:
    _check(case, *_MODES[mode](case, *_tensors(case)))


# ----- C, and clients built on it. -----


@pytest.fixture(scope="module")
def client() -> Client:
    """`import tensorflow_ext.addons` in `wrappers` registers the ops."""
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
def test_function_runtime(case: Case) -> None:
    """SymbolicGradient of the op; the function runtime has no absent gradients."""
    upstream, _ = _weights(case)
    op = attr_value_pb2.NameAttrList(name=case.op, attr=case.node().attr)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        inputs = [tf.constant(x) for x in case.inputs]
        gradients = gen_functional_ops.symbolic_gradient(
            [*inputs, *map(tf.constant, upstream)], [x.dtype for x in inputs], op
        )
        found = session.run([gradients[i] for i in case.differentiable])
    _check(case, found, _expected(case.name)[1])
