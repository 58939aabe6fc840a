"""tensorflow_ext.numpy_op: a NumPy function as an op with a gradient."""

import concurrent.futures
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from gradient_modes import ELEMENTWISE, REVERSE, derivative, eager, inside, outside

import tensorflow_ext as tfe

X = tf.constant([0.3, 0.7, 1.2, 1.7])
Y = tf.constant([0.2, 0.5, 1.0, 2.9])


def mod_gradient(op: Any, dz: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    x, y = op.inputs
    return dz, -dz * tf.floor(x / y)


mod = tfe.numpy_op(np.mod, tf.float32, gradient=mod_gradient, name="mod")
cube = tfe.numpy_op(
    lambda x: x**3,
    tf.float32,
    gradient=lambda op, dy: 3 * dy * square(op.inputs[0]),
    shape=lambda x: x,
)
square = tfe.numpy_op(
    np.square, tf.float32, gradient=lambda op, dy: 2 * dy * op.inputs[0], stateful=False
)


@pytest.mark.parametrize("mode", [*REVERSE, *ELEMENTWISE])
def test_gradients(mode: Callable) -> None:
    dx, dy = mode(mod, X, Y)
    np.testing.assert_array_equal(dx, [1, 1, 1, 1])
    np.testing.assert_array_equal(dy, [-1, -1, -1, 0])


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_values(wrap: Callable) -> None:
    z = wrap(mod)(X, Y)
    np.testing.assert_allclose(z, [0.1, 0.2, 0.2, 1.7], rtol=1e-6)
    np.testing.assert_allclose(wrap(lambda: mod([3.5], [2.0]))(), [1.5])
    variable = tf.Variable(X)
    np.testing.assert_allclose(wrap(lambda: mod(variable, Y))(), z)
    with tf.GradientTape() as tape:
        y = wrap(lambda: cube(variable))()
    np.testing.assert_allclose(tape.gradient(y, variable), 3 * X**2, rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_third_order(wrap: Callable) -> None:
    x = X.numpy()
    function = cube
    for expected in (3 * x**2, 6 * x, 6 + 0 * x):
        function = derivative(function)
        np.testing.assert_allclose(wrap(function)(X), expected, rtol=1e-6)


@pytest.mark.parametrize("mode", REVERSE)
def test_several_outputs_and_none(mode: Callable) -> None:
    def gradient(op: Any, d_sum: tf.Tensor, d_count: None, d_max: tf.Tensor) -> list:
        assert d_count is None
        assert op.name == "statistics"
        assert op.get_attr("Tout") == [tf.float32, tf.int64, tf.float32]
        x, _ = op.inputs
        chosen = tf.cast(tf.equal(x, op.outputs[2]), tf.float32)
        return [d_sum * tf.ones_like(x) + d_max * chosen, None]

    @tfe.numpy_op(Tout=[tf.float32, tf.int64, tf.float32], gradient=gradient, shape=[[], [], []])
    def statistics(x: np.ndarray, offset: np.ndarray) -> tuple:
        """Statistics of an array."""
        return x.sum() + offset, np.int64(x.size), x.max()

    assert statistics.__doc__ == "Statistics of an array."
    assert statistics.__name__ == "statistics"

    def function(x: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
        total, count, largest = statistics(x, offset)
        assert total.shape == largest.shape == count.shape == []
        return 2 * total + 10 * largest

    dx, d_offset = mode(function, X, tf.constant(1.0))
    np.testing.assert_array_equal(dx, [2, 2, 2, 12])
    assert d_offset is None or d_offset == 0


def test_no_gradient() -> None:
    sign = tfe.numpy_op(np.sign, tf.float32)
    for mode in (eager, outside, inside):
        assert mode(sign, X) == [None]


def test_shapes() -> None:
    unknown = tf.TensorSpec([None, 4])
    concrete = tf.function(cube).get_concrete_function(unknown)
    assert concrete.output_shapes.as_list() == [None, 4]
    assert tf.function(mod).get_concrete_function(X, Y).output_shapes.rank is None
    fixed = tfe.numpy_op(np.negative, tf.float32, shape=[4])
    assert tf.function(fixed).get_concrete_function(unknown).output_shapes == [4]


@pytest.mark.parametrize(("stateful", "expected"), [(True, 2), (False, 1)])
def test_stateful(stateful: bool, expected: int) -> None:
    calls: list[int] = []

    @tfe.numpy_op(Tout=tf.float32, stateful=stateful)
    def counted(x: np.ndarray) -> np.ndarray:
        calls.append(1)
        return x

    @tf.function
    def function(x: tf.Tensor) -> tf.Tensor:
        counted(x)
        return counted(x)

    function(X)
    assert len(calls) == expected


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
@pytest.mark.parametrize(
    ("function", "types", "message"),
    [
        (np.float64, tf.float32, "output 0 is of type float64; expected float32"),
        (np.abs, tf.bfloat16, r"with \.astype\(tf\.bfloat16\.as_numpy_dtype\)"),
        (lambda x: 300, tf.int8, "output 0 is 300; expected .* -128 to 127.* int8"),
        (lambda x: -1, tf.uint8, "output 0 is -1; expected .* 0 to 255, .* uint8"),
        (lambda x: 2**70, tf.int64, "output 0 is 1180591620717411303424; expected"),
        (lambda x: 1.5, tf.int32, "output 0 is of type float64; expected int32"),
        (lambda x: x[:2], tf.float32, r"output 0 has shape \(2,\); expected \(4,\)"),
        (lambda x: [x, x], [tf.float32], "returned a list of 2; expected a list of 1 arrays"),
        (lambda x: x, [tf.float32], "returned one value; expected a list of 1 arrays"),
        (lambda x: tf.constant(1.0), tf.float32, "output 0 is a tensor; expected a Num"),
        (lambda x: x.fill(0), tf.float32, "read-only"),
        (lambda x: {}["missing"], tf.float32, "missing"),
    ],
)
def test_errors_of_the_function(
    function: Callable, types: Any, message: str, wrap: Callable
) -> None:
    shape = [[4]] if isinstance(types, list) else [4]
    op = tfe.numpy_op(function, types, shape=shape, name="wrong")
    with pytest.raises(Exception, match=message) as raised:
        wrap(op)(X)
    expected = (tf.errors.OpError,) if wrap is tf.function else (TypeError, ValueError)
    assert isinstance(raised.value, (*expected, KeyError))
    if "output" in message or "returned" in message:
        assert "numpy_op wrong" in str(raised.value)


def test_python_numbers_and_strings() -> None:
    assert tfe.numpy_op(lambda x: 2, tf.float32)(X).numpy() == 2
    assert tfe.numpy_op(lambda: 2.5, tf.bfloat16)().dtype == tf.bfloat16
    assert tfe.numpy_op(lambda: 2**70, tf.float64)().numpy() == 2.0**70
    for tout, value in [(tf.uint8, 255), (tf.uint64, 2**64 - 1), (tf.int8, -128)]:
        assert tfe.numpy_op(lambda value=value: value, tout)().numpy() == value
    upper = tfe.numpy_op(lambda s: s.upper(), tf.string)
    assert tf.function(upper)(tf.constant("abc")).numpy() == b"ABC"


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([np.mod], {}, "Tout, the type .*, is missing.*as a decorator"),
        ([3, tf.float32], {}, "expected a function, not 3"),
        ([np.mod, "number"], {}, "Tout='number'; expected a type"),
        ([np.mod, []], {}, "Tout is empty"),
        ([np.mod, tf.float32], {"gradient": 1}, "gradient=1; expected a function"),
        ([np.mod, tf.float32], {"shape": "abc"}, "shape gives 'abc'; expected a shape"),
        ([np.modf, [tf.float32] * 2], {"shape": [[3]]}, "expected a list of 2 shapes"),
    ],
)
def test_arguments(arguments: list, options: dict, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        tfe.numpy_op(*arguments, **options)


@pytest.mark.parametrize("mode", [eager, outside, inside])
@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (lambda op, dy: 1, r"of wrong returned for input 0 1; expected a tensor of type"),
        (lambda op, dy: [dy, dy], "returned 2 gradients; expected 1"),
        (lambda op, dy: tf.cast(dy, tf.half), "type float16; expected float32"),
        (lambda op, dy: dy[:2], r"shape \(2,\); expected \(4,\)"),
        (lambda op, dy: dy.missing, "missing"),
    ],
)
def test_errors_of_the_gradient(gradient: Callable, message: str, mode: Callable) -> None:
    op = tfe.numpy_op(np.negative, tf.float32, gradient=gradient, shape=[4], name="wrong")
    with pytest.raises((TypeError, ValueError, AttributeError), match=message):
        mode(op, X)


def test_gradient_of_another_shape_when_it_runs() -> None:
    half = tfe.numpy_op(lambda x: x[:2], tf.float32)
    op = tfe.numpy_op(np.negative, tf.float32, gradient=lambda op, dy: half(dy))
    with pytest.raises(tf.errors.InvalidArgumentError, match="gradient_of_PyFunc"):
        outside(op, X)


def test_compiler_names_the_unsupported_op() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"PyFunc.*node mod"):
        tf.function(mod, jit_compile=True)(X, Y)


@pytest.mark.parametrize("options", [{"run_eagerly": True}, {"jit_compile": False}, {}])
def test_keras_fit(options: dict) -> None:
    class Cube(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            # Otherwise `compile` turns XLA on.
            self.supports_jit = False

        def call(self, x: tf.Tensor) -> tf.Tensor:
            return cube(x)

    def losses(layer: keras.layers.Layer) -> list[float]:
        keras.utils.set_random_seed(0)
        model = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(3), layer, keras.layers.Dense(1)]
        )
        model.compile(keras.optimizers.SGD(0.01), "mse", **options)
        x = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
        return model.fit(x, x[:, :1], epochs=3, verbose=0).history["loss"]

    expected = losses(keras.layers.Lambda(lambda x: x**3))
    np.testing.assert_allclose(losses(Cube()), expected, rtol=1e-4)
    assert expected[-1] < expected[0]


def test_threads() -> None:
    function = tf.function(mod)

    def run(_: int) -> list:
        return [*eager(mod, X, Y), *eager(function, X, Y)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for found in pool.map(run, range(40)):
            for gradient, expected in zip(found, [[1] * 4, [-1, -1, -1, 0]] * 2, strict=True):
                np.testing.assert_array_equal(gradient, expected)
