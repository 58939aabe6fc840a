"""The ways in which Python differentiates a function."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

Function = Callable[..., Any]
Gradients = list[np.ndarray | None]


def with_gradients(function: Function, inputs: Sequence[tf.Tensor], upstream: Any = None) -> list:
    """The outputs of a function in a flat list, then their gradients by each input.

    `upstream` is the tape's argument, or a function that makes it from the outputs.
    """
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = function(*inputs)
    upstream = upstream(outputs) if callable(upstream) else upstream
    return [*tf.nest.flatten(outputs), *tape.gradient(outputs, inputs, upstream)]


def gradients(function: Function, inputs: Sequence[tf.Tensor], upstream: Any = None) -> list:
    """The gradients of a function by each input; see with_gradients."""
    return with_gradients(function, inputs, upstream)[-len(inputs) :]


def derivative(function: Function) -> Function:
    """The derivative of a function of one tensor."""
    return lambda x: gradients(function, [x])[0]


def compiled(function: Function) -> Function:
    """The function, compiled by XLA."""
    return tf.function(function, jit_compile=True)


def _arrays(gradients: list) -> Gradients:
    return [None if g is None else tf.convert_to_tensor(g).numpy() for g in gradients]


def eager(function: Function, *inputs: tf.Tensor) -> Gradients:
    """A tape."""
    return _arrays(gradients(function, inputs))


def persistent(function: Function, *inputs: tf.Tensor) -> Gradients:
    """A persistent tape."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        y = function(*inputs)
    tape.gradient(y, inputs)
    return _arrays(tape.gradient(y, inputs))


def outside(function: Function, *inputs: tf.Tensor) -> Gradients:
    """A tape around a tf.function."""
    return eager(tf.function(function), *inputs)


def outside_compiled(function: Function, *inputs: tf.Tensor) -> Gradients:
    """A tape around a tf.function that XLA compiles."""
    return eager(compiled(function), *inputs)


def inside(function: Function, *inputs: tf.Tensor) -> Gradients:
    """A tape inside a tf.function."""
    return _arrays(tf.function(lambda *given: gradients(function, given))(*inputs))


def inside_compiled(function: Function, *inputs: tf.Tensor) -> Gradients:
    """A tape inside a tf.function that XLA compiles."""
    return _arrays(compiled(lambda *given: gradients(function, given))(*inputs))


def nested(function: Function, *inputs: tf.Tensor) -> Gradients:
    """A tape inside a tf.function around another."""
    return inside(tf.function(tf.function(function)), *inputs)


def branch(function: Function, *inputs: tf.Tensor) -> Gradients:
    """In a branch of tf.cond."""

    def chosen(*given: tf.Tensor) -> tf.Tensor:
        total = tf.add_n([tf.reduce_sum(tensor) for tensor in given])
        # `<` alone would be known when the function is traced.
        return tf.cond(total < 1e9, lambda: function(*given), lambda: 0 * function(*given))

    return outside(chosen, *inputs)


def loop(function: Function, *inputs: tf.Tensor) -> Gradients:
    """In the second of two iterations of tf.while_loop."""

    def looped(*given: tf.Tensor) -> tf.Tensor:
        y = tf.zeros_like(function(*given))
        return tf.while_loop(lambda i, _: i < 2, lambda i, _: (i + 1, function(*given)), (0, y))[1]

    return outside(looped, *inputs)


def graph(function: Function, *inputs: tf.Tensor) -> Gradients:
    """tf.gradients in a graph of TensorFlow 1."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        given = [tf.constant(tensor.numpy()) for tensor in inputs]
        found = tf.gradients(function(*given), given)
        return [None if g is None else session.run(tf.convert_to_tensor(g)) for g in found]


def forward(function: Function, *inputs: tf.Tensor) -> Gradients:
    """Forward mode of an elementwise function: one pass for each input."""
    found = []
    for tensor in inputs:
        with tf.autodiff.ForwardAccumulator(tensor, tf.ones_like(tensor)) as accumulator:
            y = function(*inputs)
        found.append(accumulator.jvp(y, tf.UnconnectedGradients.ZERO))
    return _arrays(found)


def forward_in_function(function: Function, *inputs: tf.Tensor) -> Gradients:
    """Forward mode around a tf.function."""
    return forward(tf.function(function), *inputs)


# Modes that run on the host cannot be compiled.
COMPILED = [outside_compiled, inside_compiled]
ELEMENTWISE = [forward, forward_in_function]
REVERSE = [eager, persistent, outside, inside, nested, branch, loop, graph]
