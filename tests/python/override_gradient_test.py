"""tensorflow_ext.override_gradient: in every mode, and what stays unchanged."""

import pathlib
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import processes
import pytest
import tensorflow as tf
from gradient_modes import (
    COMPILED,
    ELEMENTWISE,
    REVERSE,
    derivative,
    eager,
    gradients,
    inside,
    outside,
    with_gradients,
)

import tensorflow_ext as tfe

X = tf.constant([-2.0, 0.5, 3.0])
STRAIGHT_THROUGH = tfe.override_gradient({"Sign": "TfExt>SignStraightThrough"})
EVERY = [*REVERSE, *COMPILED]


def signs(x: tf.Tensor) -> tf.Tensor:
    return 3 * tf.sign(x)


@pytest.mark.parametrize("mode", [*EVERY, *ELEMENTWISE])
def test_op_type(mode: Callable) -> None:
    np.testing.assert_array_equal(mode(signs, X)[0], [0, 0, 0])
    with STRAIGHT_THROUGH:
        np.testing.assert_array_equal(mode(signs, X)[0], [0, 3, 0])
    np.testing.assert_array_equal(mode(signs, X)[0], [0, 0, 0])


@pytest.mark.parametrize("mode", EVERY)
def test_decorator(mode: Callable) -> None:
    overridden = STRAIGHT_THROUGH(signs)
    np.testing.assert_array_equal(mode(overridden, X)[0], [0, 3, 0])
    np.testing.assert_array_equal(mode(signs, X)[0], [0, 0, 0])


@pytest.mark.parametrize("mode", [*EVERY, *ELEMENTWISE])
def test_op_of_this_library(mode: Callable) -> None:
    with tfe.override_gradient({"TfExt>Relu": lambda op, dy: dy * op.inputs[0]}):
        np.testing.assert_array_equal(mode(tfe.relu, X)[0], X)


def test_variable_of_tensorflow_1() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variable = tf.compat.v1.Variable(X.numpy(), use_resource=False)
        with STRAIGHT_THROUGH:
            y = tf.sign(variable)
        (gradient,) = tf.gradients(y, [variable])
        session.run(variable.initializer)
        np.testing.assert_array_equal(session.run(gradient), [0, 1, 0])


@pytest.mark.parametrize("mode", EVERY)
def test_several_inputs_and_none(mode: Callable) -> None:
    def gradient(op: Any, dy: tf.Tensor) -> list:
        a, b = op.inputs
        assert op.type == op.name == "MatMul"
        assert not op.get_attr("transpose_a")
        assert op.get_attr("transpose_b")
        assert op.get_attr("T") == tf.float32
        assert a.shape == [2, 3]
        assert op.outputs[0].shape == [2, 2]
        return [10 * tf.matmul(dy, b), None]

    a, b = tf.ones([2, 3]), tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with tfe.override_gradient({"MatMul": gradient}):
        da, db = mode(lambda a, b: tf.matmul(a, b, transpose_b=True), a, b)
    np.testing.assert_array_equal(da, [[50, 70, 90]] * 2)
    assert db is None or not db.any()  # TensorFlow's loops and branches give zeros
    # Gradients that are not replaced stay.
    da, db = mode(lambda a, b: tf.matmul(a, b, transpose_b=True), a, b)
    np.testing.assert_array_equal(da, [[5, 7, 9]] * 2)
    np.testing.assert_array_equal(db, [[2, 2, 2]] * 2)


@pytest.mark.parametrize("mode", EVERY)
def test_several_outputs(mode: Callable) -> None:
    def gradient(op: Any, *upstream: tf.Tensor) -> tf.Tensor:
        assert len(op.outputs) == len(upstream) == 3
        return tf.stack([-upstream[0], 10 * upstream[1], upstream[2]])

    def function(x: tf.Tensor) -> tf.Tensor:
        first, second, _ = tf.unstack(x)
        return first + 2 * second

    with tfe.override_gradient({"Unpack": gradient}):
        np.testing.assert_array_equal(mode(function, X)[0], [-1, 20, 0])


@pytest.mark.parametrize("mode", [*REVERSE])
def test_output_without_derivatives(mode: Callable) -> None:
    def gradient(op: Any, values: tf.Tensor, indices: tf.Tensor | None) -> list:
        assert indices is None
        assert op.inputs[1].dtype == tf.int32
        return [tf.reduce_sum(values) * tf.ones_like(op.inputs[0]), None]

    with tfe.override_gradient({"TopKV2": gradient}):
        found = mode(lambda x: tf.math.top_k(x, 2).values, X)[0]
    np.testing.assert_array_equal(found, [2, 2, 2])


@pytest.mark.parametrize("mode", [*REVERSE])
def test_output_that_a_tape_ignores(mode: Callable) -> None:
    """TensorFlow's tapes make no zeros for the second output of this op."""
    op = "SparseSoftmaxCrossEntropyWithLogits"
    with tfe.override_gradient({op: lambda _, loss, backprop: [loss[:, None] + backprop, None]}):
        found = mode(lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([1], x[None]), X)[0]
    np.testing.assert_array_equal(found, [1, 1, 1])


@pytest.mark.parametrize("mode", EVERY)
def test_no_gradient(mode: Callable) -> None:
    with tfe.override_gradient({"Exp": None}):
        (found,) = mode(lambda x: tf.exp(x) + x, X)
    np.testing.assert_array_equal(found, [1, 1, 1])


@pytest.mark.parametrize("mode", EVERY)
def test_cpp_definition_for_a_tensorflow_op(mode: Callable) -> None:
    """TensorFlow's own Python gradient of Cumprod is wrong at zeros."""

    def last_product(x: tf.Tensor) -> tf.Tensor:
        return tf.math.cumprod(x)[2]

    x = tf.constant([2.0, 0.0, 3.0])
    definition = tfe.gradients.function_def("Cumprod", T=tf.float32)
    assert not np.allclose(mode(last_product, x)[0], [0, 6, 0])
    with tfe.override_gradient({"Cumprod": definition}):
        np.testing.assert_allclose(mode(last_product, x)[0], [0, 6, 0])


def test_custom_function_def() -> None:
    spec = tf.TensorSpec([None], tf.float32)
    function = tf.function(lambda x, dy: dy * x).get_concrete_function(spec, spec)
    with tfe.override_gradient({"Sign": function.function_def}):
        for mode in (eager, outside, inside):
            np.testing.assert_array_equal(mode(signs, X)[0], 3 * X)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_second_order(wrap: Callable) -> None:
    """The gradient's own ops keep their gradients, and it sees the replaced outputs."""

    def gradient(op: Any, dy: tf.Tensor) -> tf.Tensor:
        return dy * op.outputs[0] + tf.tanh(0 * dy)

    with tfe.override_gradient({"Tanh": gradient}):
        found = wrap(lambda x: with_gradients(derivative(tf.tanh), [x]))(X)
    # y' = y, so y'' = y.
    np.testing.assert_allclose(found, [np.tanh(X)] * 2, rtol=1e-6)


@pytest.mark.parametrize("mode", [*EVERY, *ELEMENTWISE])
def test_ops_of_gradients_keep_theirs(mode: Callable) -> None:
    """Square's gradient multiplies, and so does forward mode, which transposes it."""
    wrong = tfe.override_gradient({"Mul": lambda op, dy: [None, None]})
    with wrong:
        np.testing.assert_allclose(mode(tf.square, X)[0], 2 * X)


def test_gradient_that_runs_the_op() -> None:
    def clipped(op: Any, dy: tf.Tensor) -> tf.Tensor:
        (dx,) = gradients(tf.square, [op.inputs[0]], dy)
        return tf.clip_by_value(dx, -3, 3)

    with tfe.override_gradient({"Square": clipped}):
        for mode in (eager, outside, inside):
            np.testing.assert_array_equal(mode(tf.square, X)[0], [-3, 1, 3])


def test_gradient_after_the_block() -> None:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        with STRAIGHT_THROUGH:
            inside_block = tf.sign(X)
        outside_block = tf.sign(X)
    np.testing.assert_array_equal(tape.gradient(inside_block, X), [0, 1, 0])
    np.testing.assert_array_equal(tape.gradient(outside_block, X), [0, 0, 0])


@pytest.mark.parametrize("jit_compile", [False, True])
def test_variables(jit_compile: bool) -> None:
    table = tf.Variable(tf.ones([4, 2]))

    def seven(op: Any, dy: tf.Tensor) -> list:
        return [tf.IndexedSlices(7 * dy, op.inputs[1], tf.constant([4, 2])), None]

    def lookup() -> tf.Tensor:
        return tf.gather(table, [1, 2])

    with tfe.override_gradient({"ResourceGather": seven}):
        for function in (lookup, tf.function(lookup, jit_compile=jit_compile)):
            with tf.GradientTape() as tape:
                y = function()
            found = tf.convert_to_tensor(tape.gradient(y, table))
            np.testing.assert_array_equal(found, [[0, 0], [7, 7], [7, 7], [0, 0]])
    with STRAIGHT_THROUGH, tf.GradientTape() as tape:
        y = tf.sign(table)
    np.testing.assert_array_equal(tape.gradient(y, table), np.ones([4, 2]))


def test_vectorized_map() -> None:
    def gradient(op: Any, dy: tf.Tensor) -> list:
        a, b = op.inputs
        return [10 * tf.matmul(dy, b, transpose_b=True), 100 * tf.matmul(a, dy, transpose_a=True)]

    a, b = tf.random.normal([5, 2, 3]), tf.random.normal([3, 4])
    results = []
    for run in (tf.vectorized_map, tf.map_fn):

        def all_products(a: tf.Tensor, b: tf.Tensor, run: Callable = run) -> tf.Tensor:
            return run(lambda x: x @ b, a)

        with tfe.override_gradient({"MatMul": gradient}):
            results.append(eager(all_products, a, b))
    for vectorized, one_by_one in zip(*results, strict=True):
        np.testing.assert_allclose(vectorized, one_by_one, rtol=1e-4)
    np.testing.assert_allclose(results[0][0], np.full([5, 2, 4], 10) @ b.numpy().T, rtol=1e-4)
    with STRAIGHT_THROUGH:
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = tf.sign(X) * X
        np.testing.assert_allclose(tape.jacobian(y, X), np.diag([-1, 1.5, 1]))


@pytest.mark.parametrize("jit_compile", ["auto", False])
@pytest.mark.parametrize("run_eagerly", [False, True])
def test_keras_fit(jit_compile: str | bool, run_eagerly: bool) -> None:
    dense = keras.layers.Dense(8)
    model = keras.Sequential(
        [keras.Input((4,)), dense, keras.layers.Lambda(tf.sign), keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse", jit_compile=jit_compile, run_eagerly=run_eagerly)
    x = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)

    def change() -> float:
        before = dense.get_weights()[0]
        model.fit(x, x[:, :1], verbose=0)
        return float(np.abs(dense.get_weights()[0] - before).max())

    assert change() == 0
    with STRAIGHT_THROUGH:
        assert change() > 1e-4
    assert change() == 0


def test_saved_model(tmp_path: pathlib.Path) -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            self.w = tf.Variable([1.0, 0.5, 0.25])

        @tf.function(input_signature=[tf.TensorSpec([3], tf.float32)])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            y = tf.function(tf.sign)(x * self.w)
            return tf.matmul(y[None], tf.ones([3, 2]))

    def gradient(op: Any, dy: tf.Tensor) -> list:
        return [10 * tf.matmul(dy, op.inputs[1], transpose_b=True), None]

    model = Model()
    both = {"Sign": "TfExt>SignStraightThrough", "MatMul": gradient}
    with tfe.override_gradient(both):
        tf.saved_model.save(model, str(tmp_path / "one"))
    loaded = tf.saved_model.load(str(tmp_path / "one"))
    tf.saved_model.save(loaded, str(tmp_path / "two"))
    for model in (loaded, tf.saved_model.load(str(tmp_path / "two"))):
        np.testing.assert_array_equal(eager(model, X)[0], [0, 10, 5])


def test_saved_model_without_this_library(tmp_path: pathlib.Path) -> None:
    model = tf.Module()
    model.f = tf.function(tf.sign, input_signature=[tf.TensorSpec([3])])
    with tfe.override_gradient({"Sign": lambda op, dy: dy * op.inputs[0]}):
        tf.saved_model.save(model, str(tmp_path))
    program = """
        import sys
        import tensorflow as tf
        f = tf.saved_model.load(sys.argv[1]).f
        x = tf.constant([-2.0, 0.5, 3.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        print(tape.gradient(y, x).numpy().tolist(), "tensorflow_ext" in sys.modules)
        """
    assert processes.run(program, str(tmp_path)).split() == ["[-2.0,", "0.5,", "3.0]", "False"]
