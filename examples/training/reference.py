"""Two trainings in Python, which programs in bindings repeat step by step in each language.

    train_embedding PREFIX
    gradient_penalty

print the loss of each step with 9 digits. PREFIX is the beginning of the paths of the checkpoint
that train_embedding writes at the end: the variables by their names here, and the optimizer's state
as that of tf.train.Checkpoint(optimizer=...). Each program feeds a placeholder with the seed of the
step. TENSORFLOW_EXT_LIBRARY names libtensorflow_ext.so for a program that does not link it.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import keras
import tensorflow as tf

STEPS = 100
BATCH = 64

# Runs a step from a seed, int64 [2], and returns the loss before it.
Step = Callable[[tf.Tensor], tf.Tensor]
Variables = dict[str, tf.Variable]


class Training(NamedTuple):
    """A model in training.

    Attributes:
      step: A tf.function.
      variables: The trained variables, by their names in the programs.
      optimizer: An optimizer of Keras with the same state, or one of variables that this module
        updates itself.
    """

    step: Step
    variables: Variables
    optimizer: keras.optimizers.Optimizer


def seed(step: int) -> tf.Tensor:
    """The seed of a step, counted from 0."""
    return tf.constant([step, 7], tf.int64)


def _make(initial: Mapping[str, tuple[list[int], keras.initializers.Initializer]]) -> Variables:
    return {name: tf.Variable(init(shape), name=name) for name, (shape, init) in initial.items()}


def _build(optimizer: keras.optimizers.Optimizer, variables: Variables) -> list[keras.Variable]:
    """Makes the slots of an optimizer. Keras copies the variables, under the same names."""
    tracked = [keras.Variable(v, name=name.replace("/", "_")) for name, v in variables.items()]
    optimizer.build(tracked)
    return tracked


def train_embedding() -> Training:
    """Adam, lazily: a step changes only the rows of the table that it gathers, and their slots."""
    variables = _make(
        {
            "embedding/table": ([1000, 8], keras.initializers.RandomUniform(seed=1)),
            "head/kernel": ([8, 3], keras.initializers.GlorotUniform(seed=2)),
            "head/bias": ([3], keras.initializers.Zeros()),
        }
    )
    table, kernel, bias = variables.values()
    adam = keras.optimizers.Adam(learning_rate=0.02)
    _build(adam, variables)
    slots = [v.value for v in adam.variables[2:]]

    @tf.function(autograph=False)
    def step(seed: tf.Tensor) -> tf.Tensor:
        ids = tf.raw_ops.StatelessRandomUniformInt(shape=[BATCH], seed=seed, minval=0, maxval=1000)
        with tf.GradientTape() as tape:
            rows = tf.gather(table, ids)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(ids % 3, rows @ kernel + bias)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, [table, kernel, bias])
        count = tf.cast(adam.iterations.value.assign_add(1), tf.float32)
        rate = 0.02 * tf.sqrt(1 - tf.pow(0.999, count)) / (1 - tf.pow(0.9, count))
        for i, (variable, gradient) in enumerate(zip(variables.values(), gradients, strict=True)):
            _adam(variable, *slots[2 * i : 2 * i + 2], gradient, rate)
        return loss

    return Training(step, variables, adam)


def _adam(
    variable: tf.Variable,
    momentum: tf.Variable,
    velocity: tf.Variable,
    gradient: tf.Tensor | tf.IndexedSlices,
    rate: tf.Tensor,
) -> None:
    """The formula of Keras, for the rows of the gradient."""
    if not isinstance(gradient, tf.IndexedSlices):
        momentum.assign_add((gradient - momentum) * (1 - 0.9))
        velocity.assign_add((tf.square(gradient) - velocity) * (1 - 0.999))
        variable.assign_sub(momentum * rate / (tf.sqrt(velocity) + 1e-7))
        return
    ids, places = tf.unique(gradient.indices)
    sums = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(ids))
    means = tf.gather(momentum, ids)
    squares = tf.gather(velocity, ids)
    means += (sums - means) * (1 - 0.9)
    squares += (tf.square(sums) - squares) * (1 - 0.999)
    momentum.scatter_update(tf.IndexedSlices(means, ids))
    velocity.scatter_update(tf.IndexedSlices(squares, ids))
    variable.scatter_sub(tf.IndexedSlices(means * rate / (tf.sqrt(squares) + 1e-7), ids))


def gradient_penalty() -> Training:
    """SGD with momentum; the loss contains a gradient, so training needs the second order."""
    variables = _make(
        {
            "hidden/kernel": ([4, 16], keras.initializers.GlorotUniform(seed=1)),
            "hidden/bias": ([16], keras.initializers.Zeros()),
            "output/kernel": ([16, 1], keras.initializers.GlorotUniform(seed=2)),
            "output/bias": ([1], keras.initializers.Zeros()),
        }
    )
    sgd = keras.optimizers.SGD(learning_rate=0.05, momentum=0.9)
    _build(sgd, variables)
    slots = [v.value for v in sgd.variables[2:]]

    @tf.function(autograph=False)
    def step(seed: tf.Tensor) -> tf.Tensor:
        x = tf.raw_ops.StatelessRandomNormal(shape=[BATCH, 4], seed=seed)
        target = tf.sin(tf.reduce_sum(x, 1, keepdims=True))
        w1, b1, w2, b2 = variables.values()
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.tanh(x @ w1 + b1) @ w2 + b2
            dx = inner.gradient(y, x)
            norm = tf.sqrt(tf.reduce_sum(tf.square(dx), 1))
            penalty = tf.reduce_mean(tf.square(norm - 1))
            loss = tf.reduce_mean(tf.square(y - target)) + 0.1 * penalty
        gradients = outer.gradient(loss, [w1, b1, w2, b2])
        sgd.iterations.value.assign_add(1)
        for variable, slot, gradient in zip(variables.values(), slots, gradients, strict=True):
            tf.raw_ops.ResourceApplyKerasMomentum(
                var=variable.handle, accum=slot.handle, lr=0.05, grad=gradient, momentum=0.9
            )
        return loss

    return Training(step, variables, sgd)


TRAININGS: Mapping[str, Callable[[], Training]] = {
    "train_embedding": train_embedding,
    "gradient_penalty": gradient_penalty,
}


def losses(training: Training, steps: int = STEPS) -> list[float]:
    """Trains; returns the loss of each step."""
    return [float(training.step(seed(k))) for k in range(steps)]
