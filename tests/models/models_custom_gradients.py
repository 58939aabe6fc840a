"""Models that bring gradients of their own: tf.custom_gradient in functions, calls, branches and
loops, with what the gradient captures."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from model import model
from models_functions import in_module
from random_values import normal

X = {"x": normal(4, 3)}
# The last value overflows in e^x.
LARGE = {"x": np.array([1.0, -2.0, 0.5, 1000.0])}


@tf.custom_gradient
def straight_through(x: tf.Tensor) -> Any:
    return tf.sign(x), lambda dy: dy


@tf.custom_gradient
def reversal(x: tf.Tensor) -> Any:
    return tf.identity(x), lambda dy: -3.0 * dy


@tf.custom_gradient
def log1pexp(x: tf.Tensor) -> Any:
    """TensorFlow's own example; the gradient captures e^x."""
    e = tf.exp(x)
    return tf.math.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))


@tf.custom_gradient
def other_sine(x: tf.Tensor) -> Any:
    return tf.sin(x), lambda dy: dy * 7 * tf.cos(x)


# Python's tapes give NaN for the last value if two are open.
@in_module(LARGE, {"w": np.array(1.0)}, exact=("x",), orders=1, every_program=True)
def on_plain_functions(m: Any, x: tf.Tensor) -> dict[str, tf.Tensor]:
    y = x * m.w
    return {
        "straight_through": straight_through(y),
        "reversal": reversal(y),
        "log1pexp": log1pexp(y),
        "passed_through": tf.grad_pass_through(tf.round)(y),
        "other_sine": other_sine(y),
    }


@in_module(X, {"w": normal(3)})
def in_calls(m: Any, x: tf.Tensor) -> tf.Tensor:
    """In a function that a function calls twice; one call is compiled."""

    @tf.function
    def inner(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return other_sine(x) * log1pexp(y)

    @tf.function(jit_compile=True)
    def outer(x: tf.Tensor) -> tf.Tensor:
        return inner(x, x * m.w) + inner(x * x, m.w * tf.ones_like(x))

    return outer(x) + reversal(x)


@in_module(X, {"w": normal(3), "unused": normal(3)})
def several_inputs_and_outputs(m: Any, x: tf.Tensor) -> tf.Tensor:
    @tf.custom_gradient
    def function(x: tf.Tensor, y: tf.Tensor, rows: tf.Tensor) -> Any:
        """Outputs and inputs of several types; the gradient by `y` is None."""

        def grad(dproduct: tf.Tensor, dsum: tf.Tensor, drows: tf.Tensor) -> Any:
            del drows
            return 2 * dproduct * y + 3 * dsum, None, None

        return (x * y, x + y, rows + 1), grad

    product, total, rows = function(x, tf.ones_like(x) * m.w, tf.shape(x)[0])
    return product * tf.cast(rows, x.dtype) + tf.sin(product) * 0.5 + total * total


@in_module(X, {"w": normal(3), "b": normal(3, seed=1)})
def by_variables(m: Any, x: tf.Tensor) -> tf.Tensor:
    @tf.custom_gradient
    def layer(x: tf.Tensor) -> Any:
        y = tf.tanh(x * m.w + m.b)

        def grad(dy: tf.Tensor, variables: Any = None) -> Any:
            of_variable = {"w": 10 * dy * x * y, "b": 20 * dy}
            return 5 * dy * y, [
                tf.reduce_sum(of_variable[v.name.split(":")[0]], 0) for v in variables
            ]

        return y, grad

    return layer(layer(x)) * m.w


@in_module(X, {"w": normal(3)}, frozen={"scale": normal(3, seed=2)})
def variable_of_the_gradient_alone(m: Any, x: tf.Tensor) -> tf.Tensor:
    scales = tf.constant([1.0, 2.0, -3.0], x.dtype)

    @tf.custom_gradient
    def scaled(x: tf.Tensor) -> Any:
        return tf.identity(x), lambda dy: dy * tf.stop_gradient(m.scale) * scales

    return scaled(x * m.w) * m.w + tf.reduce_sum(m.scale)


@in_module(
    {"x": normal(3), "way": np.array(1, np.int32)},
    {"a": normal(3), "b": normal(3, seed=1)},
    exact=("x", "way"),
    loaded=0,
)
def in_branches(m: Any, x: tf.Tensor, way: tf.Tensor) -> tf.Tensor:
    y = tf.cond(
        tf.reduce_sum(x * m.a) > -100, lambda: other_sine(x * m.a), lambda: reversal(x) + m.b
    )
    ways = [lambda: y * y, lambda: log1pexp(y) * m.b, lambda: straight_through(x) / m.a]
    return tf.switch_case(way, ways)


@in_module(X, {"w": normal(3)}, loaded=0)
def in_a_loop(m: Any, x: tf.Tensor) -> tf.Tensor:
    """The gradient captures a tensor of the body, and one that the loop was given."""
    scale = tf.sin(m.w)

    @tf.custom_gradient
    def step(y: tf.Tensor) -> Any:
        e = tf.exp(y * 0.1)
        return e * scale, lambda dy: dy * e * 0.3 * scale

    def body(i: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return i + 1, step(y) + x

    return tf.while_loop(lambda i, y: i < 3, body, (0, x))[1]


@in_module(X, {"w": normal(3)})
def one_inside_another(m: Any, x: tf.Tensor) -> tf.Tensor:
    @tf.custom_gradient
    def outer(x: tf.Tensor) -> Any:
        y = other_sine(x) * x
        return y, lambda dy: dy * 2 * y

    return outer(x * m.w) + m.w


# recompute_grad refuses a second order.
@in_module(X, {"w": normal(3, 3), "b": normal(3, seed=1)}, orders=1)
def recomputed(m: Any, x: tf.Tensor) -> tf.Tensor:
    block = tf.recompute_grad(lambda x: tf.tanh(x @ m.w + m.b))
    return block(block(x)) * m.b


@in_module(X, {"w": normal(3)})
def overridden(m: Any, x: tf.Tensor) -> tf.Tensor:
    """The graph gives an op the gradient of another op."""
    graph = tf.compat.v1.get_default_graph()
    with graph.gradient_override_map({"Round": "Identity"}):
        y = tf.round(x * m.w * 3)
    return y * m.w + x


@model({"x": normal(5, 6)}, types=["float32"], every_program=True)
def quantized_to_int8(x: Any) -> Any:
    """Keras quantizes after training: the gradients are straight through."""
    hidden = keras.layers.Dense(6, activation="silu")
    last = keras.layers.Dense(3)
    y = last(hidden(x))
    for layer in (hidden, last):
        layer.quantize("int8")
    return y


@model(X)
def in_keras(x: Any) -> Any:
    y = keras.layers.Dense(4, activation="silu")(x)
    y = keras.layers.LayerNormalization()(y)
    return keras.layers.Dense(2)(keras.layers.Activation("gelu")(y))
