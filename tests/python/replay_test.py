"""The replay of a C++ definition as a Python gradient: on the ops of another library, which use
every feature, and against TensorFlow's own gradients.
"""

import concurrent.futures
import threading
import unittest.mock
from collections.abc import Callable, Iterator

import numpy as np
import processes
import pytest
import tensorflow as tf
from gradient_modes import derivative, gradients, with_gradients
from tensorflow.python.eager import backprop
from tensorflow.python.framework import ops

import tensorflow_ext as tfe
from tensorflow_ext._runtime import _plan, _registration, _replay

other = tf.load_op_library(processes.other_library())
tfe.gradients.register_all()

Function = Callable[..., tf.Tensor]


@pytest.fixture(params=["interpreted", "compiled", "fallback", "tf.function"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Function:
    """Runs a function in one of the ways that a plan runs."""
    if request.param == "tf.function":
        return lambda function, *args: tf.function(function)(*args)

    def find_anew(op: object, op_type: str, *_: object) -> _replay.Replay:
        node = _registration._node_def(op, op_type)
        replay = _replay.Replay(_plan.find(node, None))
        replay._has_run = request.param != "interpreted"
        return replay

    def fall_back(*_: object) -> None:
        raise _replay.core._FallbackException

    monkeypatch.setattr(_registration, "_find", find_anew)
    if request.param == "fallback":
        monkeypatch.setattr(_replay.pywrap_tfe, "TFE_Py_FastPathExecute", fall_back, raising=True)
    return lambda function, *args: function(*args)


def _values(*shape: int) -> tf.Tensor:
    return tf.constant(np.random.default_rng(1).uniform(0.5, 2, shape))


def _sum(*inputs: tf.Tensor) -> tf.Tensor:
    """The sum of all inputs but the last, times the last."""
    return other.other_weighted_sum(inputs[:-1], inputs[-1])[0]


_cube_gradient = derivative(other.other_cube)


def test_list_inputs_and_reused_outputs(mode: Function) -> None:
    a, b, weight = _values(2, 3), _values(2, 3) + 1, _values(2, 3) + 2
    upstream = _values(2, 3) - 1
    found = mode(lambda *inputs: gradients(_sum, inputs, upstream), a, b, weight)
    expected = [weight * upstream, weight * upstream, (a + b) * upstream]
    np.testing.assert_allclose(found, expected)


def test_a_tape_that_wants_more_than_an_earlier_one() -> None:
    a, weight = _values(3), _values(3) + 2
    np.testing.assert_allclose(gradients(lambda weight: _sum(a, weight), [weight]), [a])
    np.testing.assert_allclose(gradients(_sum, [a, weight]), [weight, a])


def _operations(function: Function, *inputs: tf.Tensor) -> list[tf.Operation]:
    return tf.function(function).get_concrete_function(*inputs).graph.get_operations()


def test_the_forward_op_is_not_run_again() -> None:
    def differentiate(x: tf.Tensor, weight: tf.Tensor) -> list[tf.Tensor]:
        return gradients(lambda weight: _sum(x, weight), [weight])

    types = [op.type for op in _operations(differentiate, _values(2), _values(2))]
    assert types.count("Other>WeightedSum") == 1
    assert "Tile" not in types  # only for inputs whose gradients nobody asked for


def test_constants_and_control_inputs(mode: Function) -> None:
    x = _values(5)
    for _ in range(2):
        first, second = mode(lambda x: with_gradients(_cube_gradient, [x]), x)
        np.testing.assert_allclose(first, 3 * x**2)
        np.testing.assert_allclose(second, 6 * x)


def test_control_inputs_are_kept_in_a_graph() -> None:
    (square,) = [op for op in _operations(_cube_gradient, _values(5)) if op.type == "Square"]
    assert [op.type for op in square.control_inputs] == ["NoOp"]


def test_lists_of_types_and_missing_upstream_gradients(mode: Function) -> None:
    def differentiate(x: tf.Tensor, i: tf.Tensor) -> tuple[tf.Tensor, ...]:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, i])
            a, _, c = other.other_mixed(
                [x, i, tf.cast(x, tf.float32)], size=[2, None], numbers=[1, 2], label="label"
            )
        assert tape.gradient(a, i) is None
        return tape.gradient(a, x), tape.gradient(c, x)

    for found in mode(differentiate, _values(3), tf.constant(3)):
        np.testing.assert_array_equal(found, np.ones(3))


def test_missing_upstream_gradient_in_a_v1_graph() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.constant([1.0, 2.0])
        _, _, c = other.other_mixed([x, tf.constant(3), x * 2.0])
        (gradient,) = tf.compat.v1.gradients(c, [x])
        np.testing.assert_array_equal(session.run(gradient), [2, 2])


def test_sparse_upstream_gradient(mode: Function) -> None:
    def gathered(x: tf.Tensor) -> tf.Tensor:
        return tf.gather(other.other_cube(x), [0, 2, 2])

    x = _values(4)
    found = mode(derivative(gathered), x)
    np.testing.assert_allclose(found, 3 * x**2 * [1, 0, 2, 0])


def test_wrong_definition_is_an_error_that_names_it(mode: Function) -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match="Other>Missing"):
        mode(derivative(other.other_broken), tf.constant(1.0))


def test_error_of_a_step_is_tensorflows_own() -> None:
    gradient = _registration.make_gradient("MatMul")
    attrs = ("transpose_a", False, "transpose_b", False, "T", 1)
    x = tf.ones([2, 3])
    op = backprop._MockOp(attrs, (x, x), (x,), "MatMul", None)
    for _ in ("interpreted", "compiled"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="MatMul"):
            gradient(op, tf.ones([5, 5]))


def test_the_second_eager_use_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    compile_plan = _replay._compile

    def count(plan: _plan.Plan, in_graph: _replay.Run) -> _replay.Run:
        compiled.append(plan)
        return compile_plan(plan, in_graph)

    monkeypatch.setattr(_replay, "_compile", count)
    monkeypatch.setitem(
        ops._gradient_registry._registry["Other>Cube"],
        "type",
        _registration.make_gradient("Other>Cube"),
    )
    x = _values(3)

    found = []
    # (in a function or not, the number of plans compiled afterwards)
    for is_traced, expected in (
        (True, 0),
        (True, 0),
        (False, 0),
        (True, 0),
        (False, 1),
        (False, 1),
        (True, 1),
    ):
        function = tf.function(_cube_gradient) if is_traced else _cube_gradient
        found.append(function(x))
        assert len(compiled) == expected
        np.testing.assert_array_equal(found[-1], found[0])


@pytest.mark.parametrize("is_result", [False, True])
def test_shared_constants(is_result: bool) -> None:
    """All outputs are on a device, except a gradient: a tape could not tell two of these apart."""
    value = tf.make_tensor_proto(2.0)
    step = _plan.Step("Const", "two", [], ["s0_0"], {"value": value}, [], tf.compat.v1.NodeDef())
    plan = _plan.Plan("Other>Cube", [step], ["s0_0" if is_result else None], ["x"])
    constant = next(iter(_replay._Writer(plan).constants.values()))
    device = unittest.mock.Mock(device_name="CPU:0")
    first = constant(device)
    assert (constant(device) is first) is not is_result
    device.device_name = "GPU:0"
    assert constant(device) is not first


def test_first_use_by_many_threads_at_once() -> None:
    threads = 8
    start = threading.Barrier(threads)
    x = _values(3)

    def differentiate(_: int) -> tf.Tensor:
        start.wait()
        for size in range(40):  # plans that no thread has seen
            (gradient,) = gradients(
                lambda x, size=size: other.other_mixed([other.other_cube(x)], size=[size])[0], [x]
            )
        return gradient

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for gradient in pool.map(differentiate, range(threads)):
            np.testing.assert_allclose(gradient, 3 * x**2)


STOCK = {
    "Mul": (tf.multiply, [(3, 4), (2, 1, 4)]),
    "MatMul": (tf.matmul, [(3, 4), (4, 5)]),
    "Sum": (lambda x: tf.reduce_sum(x, 1), [(3, 4)]),
    "Mean": (lambda x: tf.reduce_mean(x, 0), [(3, 4)]),
    "ConcatV2": (lambda *xs: tf.concat(xs, 1), [(3, 4), (3, 2), (3, 1)]),
    "Pack": (lambda *xs: tf.stack(xs, 1), [(3, 4), (3, 4)]),
    "Unpack": (lambda x: tf.unstack(x, axis=1), [(3, 4)]),
    "Split": (lambda x: tf.split(x, 2, 1), [(3, 4)]),
    "StridedSlice": (lambda x: x[1:, ::2], [(3, 4)]),
    "Squeeze": (lambda x: tf.squeeze(x), [(3, 1, 4)]),
    "Pow": (tf.pow, [(3, 4), (4,)]),
    "Xlogy": (tf.math.xlogy, [(3, 4), (4,)]),
    "Max": (lambda x: tf.reduce_max(x, 1), [(3, 4)]),
    "Cast": (lambda x: tf.cast(x, tf.float32), [(3, 4)]),
    "Conv2D": (lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), [(1, 5, 5, 2), (3, 3, 2, 2)]),
    "MaxPool": (lambda x: tf.nn.max_pool2d(x, 2, 1, "SAME"), [(1, 5, 5, 2)]),
}


@pytest.fixture
def replaced(request: pytest.FixtureRequest) -> Iterator[str]:
    """Replaces TensorFlow's own Python gradient by the replay."""
    entry = ops._gradient_registry._registry[request.param]
    own = entry["type"]
    entry["type"] = _registration.make_gradient(request.param)
    yield request.param
    entry["type"] = own


def _first_and_second(function: Function, xs: list[tf.Tensor]) -> list[tf.Tensor]:
    def loss(*xs: tf.Tensor) -> tf.Tensor:
        outputs = tf.nest.flatten(function(*xs))
        return sum(tf.reduce_sum(tf.cast(tf.sin(y), tf.float64)) for y in outputs)

    with tf.GradientTape() as outer:
        outer.watch(xs)
        first = gradients(loss, xs)
        score = sum(tf.reduce_sum(tf.cos(g)) for g in first)
    return first + outer.gradient(score, xs)


def _eager_and_traced(op: str) -> list[tf.Tensor]:
    function, shapes = STOCK[op]
    xs = [_values(*shape) for shape in shapes]
    traced = tf.function(lambda: _first_and_second(function, xs))
    eagerly = [_first_and_second(function, xs) for _ in ("interpreted", "compiled")]
    return [*eagerly[0], *eagerly[1], *traced()]


_OWN = {op: _eager_and_traced(op) for op in STOCK}


@pytest.mark.parametrize("replaced", STOCK, indirect=True)
def test_tensorflows_own_definitions(replaced: str) -> None:
    for actual, own in zip(_eager_and_traced(replaced), _OWN[replaced], strict=True):
        np.testing.assert_allclose(actual, own, rtol=1e-5, atol=1e-6)
