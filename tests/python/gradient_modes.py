# SPDX-License-Identifier: Apache-2.0
"""The ways on which Python differentiates a function."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

Function = Callable[..., tf.Tensor]
Gradients = list[np.ndarray | None]


def _arrays(gradients: list) -> Gradients:
    return [None if g is None else tf.convert_to_tensor(g).numpy() for g in gradients]


def eager(function: Function, *inputs: tf.Tensor) -> Gradients:
    """A tape."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y = function(*inputs)
    return _arrays(tape.gradient(y, inputs))


def persistent(function: Function, *inputs: tf.Tensor) -> Gradients:
    """A tape that is asked twice."""
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
    return eager(tf.function(function, jit_compile=True), *inputs)


def _inside(function: Function, *inputs: tf.Tensor, jit_compile: bool) -> Gradients:
    def differentiate(*given: tf.Tensor) -> list:
        with tf.GradientTape() as tape:
            tape.watch(given)
            y = function(*given)
        gradients = tape.gradient(y, given)
        has[:] = [gradient is not None for gradient in gradients]
        return [gradient for gradient in gradients if gradient is not None]

    has: list[bool] = []
    found = iter(tf.function(differentiate, jit_compile=jit_compile)(*inputs))
    return _arrays([next(found) if there else None for there in has])


def inside(function: Function, *inputs: tf.Tensor) -> Gradients:
    """A tape inside a tf.function."""
    return _inside(function, *inputs, jit_compile=False)


def inside_compiled(function: Function, *inputs: tf.Tensor) -> Gradients:
    """A tape inside a tf.function that XLA compiles."""
    return _inside(function, *inputs, jit_compile=True)


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
        gradients = tf.gradients(function(*given), given)
        return [
            None if gradient is None else session.run(tf.convert_to_tensor(gradient))
            for gradient in gradients
        ]


def forward(function: Function, *inputs: tf.Tensor) -> Gradients:
    """Forward mode, of an elementwise function: one pass for each input."""
    gradients = []
    for tensor in inputs:
        with tf.autodiff.ForwardAccumulator(tensor, tf.ones_like(tensor)) as accumulator:
            y = function(*inputs)
        gradients.append(accumulator.jvp(y, tf.UnconnectedGradients.ZERO))
    return _arrays(gradients)


def forward_in_function(function: Function, *inputs: tf.Tensor) -> Gradients:
    """Forward mode around a tf.function."""
    return forward(tf.function(function), *inputs)


# What runs on the host cannot be compiled.
COMPILED = [outside_compiled, inside_compiled]
ELEMENTWISE = [forward, forward_in_function]
REVERSE = [eager, persistent, outside, inside, nested, branch, loop, graph]
