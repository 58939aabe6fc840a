"""examples/op_forms: each form of the op interface has its gradient in every client."""

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from c_client import Client, tensorflow_dir
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.ops import gen_functional_ops

import tensorflow_ext as tfe
from tensorflow_ext._runtime import _library

LIBRARY = os.environ["OP_FORMS"]
FORMS = tfe.load_op_library(LIBRARY)

X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]], np.float32)
X64 = X.astype(np.float64)
Y = np.array([[1.0, 2.0, -3.0], [0.5, 4.0, 1.0]], np.float32)
# Upstream gradients.
U = np.array([[2.0, -1.0, 0.5], [1.0, 3.0, -2.0]], np.float32)
V = np.array([[0.5, 1.0, -1.0], [2.0, -3.0, 1.0]], np.float32)


class Case(NamedTuple):
    """A call, and its expected outputs and gradients."""

    call: Callable[..., Any]
    inputs: Sequence[np.ndarray]
    upstream: Sequence[np.ndarray]
    outputs: Sequence[np.ndarray]
    gradients: Sequence[np.ndarray | None]


CASES = {
    "attributes by default": Case(FORMS.forms_power, [X], [U], [X**2], [2 * X * U]),
    "attributes": Case(
        lambda x: FORMS.forms_power(x, exponent=3, scale=0.5),
        [X64],
        [U.astype(np.float64)],
        [0.5 * X64**3],
        [1.5 * X64**2 * U],
    ),
    "attribute named like a keyword": Case(
        lambda x: FORMS.forms_shrink(x, lambda_=0.25), [X], [U], [X / 4], [U / 4]
    ),
    "list(type)": Case(
        lambda x, y: FORMS.forms_scale_each([x, y], factor=3.0),
        [X, Y[0].astype(np.float64)],
        [U, V[0].astype(np.float64)],
        [3 * X, 3 * Y[0].astype(np.float64)],
        [3 * U, 3 * V[0].astype(np.float64)],
    ),
    "N * T": Case(
        lambda x, y: FORMS.forms_weighted_sum([x, y, x], weights=[1.0, -2.0, 0.5]),
        [X, Y],
        [U],
        [1.5 * X - 2 * Y],
        [1.5 * U, -2 * U],
    ),
    "N * T as outputs": Case(
        lambda x: FORMS.forms_spread(x, 2, weights=[2.0, 5.0]),
        [X],
        [U, V],
        [2 * X, 5 * X],
        [2 * U + 5 * V],
    ),
    "integer input": Case(
        FORMS.forms_row,
        [X, np.int32(1)],
        [U[0]],
        [X[1]],
        [np.stack([np.zeros(3, np.float32), U[0]]), None],
    ),
    "type constraints": Case(
        FORMS.forms_row,
        [X.astype(np.float16), np.int64(0)],
        [U[0].astype(np.float16)],
        [X[0].astype(np.float16)],
        [np.stack([U[0], np.zeros(3)]).astype(np.float16), None],
    ),
    "rows of no elements": Case(
        FORMS.forms_row,
        [np.zeros((2, 0), np.float32), np.int32(1)],
        [np.zeros(0, np.float32)],
        [np.zeros(0, np.float32)],
        [np.zeros((2, 0), np.float32), None],
    ),
    "several outputs": Case(
        FORMS.forms_sin_cos, [X], [U, V], [np.sin(X), np.cos(X)], [U * np.cos(X) - V * np.sin(X)]
    ),
    "HostMemory": Case(
        FORMS.forms_repeat, [X[0], np.int32(2)], [U], [np.stack([X[0], X[0]])], [U.sum(0), None]
    ),
}


def listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def compare(case: Case, outputs: Sequence, gradients: Sequence) -> None:
    for found, expected in zip(outputs, case.outputs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    for found, expected in zip(gradients, case.gradients, strict=True):
        assert (found is None) == (expected is None)
        if expected is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
            assert found.dtype == expected.dtype


def tensors(values: Sequence[np.ndarray]) -> list[tf.Tensor]:
    return [tf.constant(value) for value in values]


def differentiate(
    call: Callable, inputs: list[tf.Tensor], upstream: list[tf.Tensor]
) -> tuple[list, list]:
    """The outputs of a call, and its gradients by each input."""
    with tf.GradientTape() as tape:
        tape.watch([x for x in inputs if x.dtype.is_floating])
        outputs = listed(call(*inputs))
    return outputs, tape.gradient(outputs, inputs, upstream)


WAYS: dict[str, Callable] = {
    "eager": differentiate,
    "inside a function": lambda call, *args: tf.function(differentiate)(call, *args),
    "around a function": lambda call, *args: differentiate(tf.function(call), *args),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_tape(name: str, way: str) -> None:
    case = CASES[name]
    compare(case, *WAYS[way](case.call, tensors(case.inputs), tensors(case.upstream)))


@pytest.mark.parametrize("name", CASES)
def test_second_order(name: str) -> None:
    """Each op of a gradient is differentiable, because the gradient by its upstream exists."""
    case = CASES[name]
    upstream = tensors(case.upstream)
    with tf.GradientTape() as second:
        second.watch(upstream)
        _, gradients = differentiate(case.call, tensors(case.inputs), upstream)
        products = [tf.cast(tf.reduce_sum(g * g), tf.float64) for g in gradients if g is not None]
        total = tf.add_n(products)
    # The gradient of |J^T u|^2 by u is 2 J J^T u; along u, it is 2 |J^T u|^2.
    found = second.gradient(total, upstream)
    along = sum(
        float(tf.reduce_sum(tf.cast(g, tf.float64) * u))
        for g, u in zip(found, case.upstream, strict=True)
    )
    np.testing.assert_allclose(along, 2 * total, rtol=1e-2)


@pytest.fixture(scope="module")
def client() -> Client:
    client = Client(tensorflow_dir(), str(_library.PATH))
    client.load(LIBRARY)
    return client


@pytest.mark.parametrize("name", CASES)
def test_c(name: str, client: Client) -> None:
    case = CASES[name]
    with tf.Graph().as_default() as built:
        inputs = tensors(case.inputs)
        outputs = [tensor.name for tensor in listed(case.call(*inputs))]
        upstream = [tensor.name for tensor in tensors(case.upstream)]
    graph = client.import_graph(built.as_graph_def().SerializeToString())
    gradients = graph.gradients(outputs, [x.name for x in inputs], upstream)
    there = [name for name in gradients if name is not None]
    results = graph.run([*outputs, *there], {})
    found = iter(results[len(outputs) :])
    compare(
        case, results[: len(outputs)], [None if name is None else next(found) for name in gradients]
    )


@pytest.mark.parametrize("name", CASES)
def test_function_runtime(name: str) -> None:
    case = CASES[name]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        inputs = tensors(case.inputs)
        outputs = listed(case.call(*inputs))
        node = outputs[0].op.node_def
        target = attr_value_pb2.NameAttrList(name=node.op)
        for attr, value in node.attr.items():
            if not attr.startswith("_"):
                target.attr[attr].CopyFrom(value)
        given = list(outputs[0].op.inputs)
        gradients = gen_functional_ops.symbolic_gradient(
            [*given, *tensors(case.upstream)], [x.dtype for x in given], target
        )
        results = session.run([outputs, gradients])
    # An input may be used by the op twice; an integer input has zeros here.
    sums = [
        None
        if expected is None
        else sum(g for g, at in zip(results[1], given, strict=True) if at is x)
        for x, expected in zip(inputs, case.gradients, strict=True)
    ]
    compare(case, results[0], sums)


def test_resource_variable() -> None:
    variable = tf.Variable(X)
    factor = tf.constant(3.0)

    def run() -> tf.Tensor:
        return FORMS.forms_scale_variable(variable.handle, factor)

    for function in (run, tf.function(run)):
        with tf.GradientTape() as tape:
            tape.watch(factor)
            tape.watch(variable.handle)
            y = function()
        np.testing.assert_array_equal(y, 3 * X)
        dv, df = tape.gradient(y, [variable.handle, factor], tf.constant(U))
        np.testing.assert_array_equal(dv, 3 * U)
        np.testing.assert_allclose(df, (U * X).sum())


def test_resource_variable_in_c(client: Client) -> None:
    with tf.Graph().as_default() as built:
        variable = tf.compat.v1.Variable(X, use_resource=True)
        factor = tf.constant(3.0)
        y = FORMS.forms_scale_variable(variable.handle, factor)
        upstream = tf.constant(U)
    graph = client.import_graph(built.as_graph_def().SerializeToString())
    xs = [variable.handle.name, factor.name]
    gradients = graph.gradients([y.name], xs, [upstream.name])
    graph.run([], {}, [variable.initializer.name])
    value, dv, df = graph.run([y.name, *gradients], {})
    np.testing.assert_array_equal(value, 3 * X)
    np.testing.assert_array_equal(dv, 3 * U)
    np.testing.assert_allclose(df, (U * X).sum())


def test_no_gradient(client: Client) -> None:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = FORMS.forms_largest(x) * x
    # A constant in x.
    np.testing.assert_array_equal(tape.gradient(y, x), np.full_like(X, 3))
    with tf.Graph().as_default() as built:
        x = tf.constant(X)
        y = FORMS.forms_largest(x) * x
    graph = client.import_graph(built.as_graph_def().SerializeToString())
    (dx,) = graph.gradients([y.name], [x.name], [])
    np.testing.assert_array_equal(graph.run([dx], {})[0], np.full_like(X, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FORMS.forms_power(X, exponent=-1), "must be at least minimum 0"),
        (lambda: FORMS.forms_weighted_sum([X, X], weights=[1.0]), "1 weights for 2"),
        (lambda: FORMS.forms_weighted_sum([X, Y[:1]], weights=[1.0] * 2), "xs.1. has"),
        (lambda: FORMS.forms_row(X, 2), "index is 2; expected less than 2"),
        (lambda: FORMS.forms_row(X[0, 0], 0), "expected rows and a scalar"),
        (lambda: FORMS.forms_repeat(X, -1), "times is -1; expected no less than 0"),
        (lambda: FORMS.forms_repeat(X, [1]), r"times has shape \[1\]"),
        (
            lambda: FORMS.forms_scale_variable(tf.Variable(X).handle, X[0]),
            "expected a scalar of the variable's type",
        ),
        (
            lambda: FORMS.forms_scale_variable(tf.Variable(X).handle, np.float64(1)),
            "of type float; factor has shape",
        ),
    ],
)
def test_errors(call: Callable, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call()


def test_shapes_are_known() -> None:
    variable = tf.Variable(X)

    @tf.function
    def run(x: tf.Tensor) -> None:
        assert FORMS.forms_power(x).shape == [None, 3]
        assert FORMS.forms_row(x, 0).shape == [3]
        assert FORMS.forms_repeat(x, 4).shape == [4, None, 3]
        assert FORMS.forms_weighted_sum([x, X], weights=[1.0, 1.0]).shape == [2, 3]
        assert FORMS.forms_scale_variable(variable.handle, 2.0).shape == [2, 3]
        assert FORMS.forms_largest(x).shape == []

    run.get_concrete_function(tf.TensorSpec([None, 3]))
