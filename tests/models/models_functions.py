"""Modules of `tf.function`, with the usual forms of control flow."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from model import RUNS_AGAIN, Model, model
from random_values import normal

X = {"x": normal(4, 3)}


def in_module(
    inputs: Mapping[str, np.ndarray],
    variables: Mapping[str, np.ndarray],
    frozen: Mapping[str, np.ndarray] | None = None,
    exact: Sequence[str] = (),
    **settings: Any,
) -> Callable[[Callable[..., Any]], Model]:
    """Makes a Model of a function of a tf.Module, whose attributes are variables, and inputs.

    Args:
      inputs: As in Model.
      variables: The initial values of the trained variables.
      frozen: The initial values of the other variables.
      exact: The inputs with a fixed shape; others have any number of rows.
      **settings: Arguments of Model.
    """

    def cast(value: np.ndarray) -> np.ndarray:
        return value.astype(keras.config.floatx()) if value.dtype.kind == "f" else value

    def make(function: Callable[..., Any]) -> Model:
        def build() -> tf.Module:
            made = tf.Module()
            for name, value in {**variables, **(frozen or {})}.items():
                setattr(made, name, tf.Variable(cast(value), name in variables, name=name))

            @tf.function(
                input_signature=[
                    tf.TensorSpec(
                        value.shape if name in exact else [None, *value.shape[1:]],
                        cast(value).dtype,
                        name,
                    )
                    for name, value in inputs.items()
                ]
            )
            def serve(*tensors: tf.Tensor) -> Any:
                return function(made, *tensors)

            made.serve = serve
            return made

        return Model(function.__name__, build, inputs, **settings)

    return make


@in_module({"x": normal(2, 3)}, {"w": normal(3, 3) / 3}, loaded=1)
def fixed_point(m: Any, x: tf.Tensor) -> tf.Tensor:
    """Repeats y = tanh(y w + x) until it converges."""

    def step(i: tf.Tensor, y: tf.Tensor, change: tf.Tensor) -> tuple[Any, ...]:
        new = tf.tanh(y @ m.w + x)
        return i + 1, new, tf.norm(new - y)

    def further(i: tf.Tensor, y: tf.Tensor, change: tf.Tensor) -> tf.Tensor:
        del y
        return tf.logical_and(i < 20, change > 0.05)

    start = (0, tf.zeros_like(x), tf.constant(1, x.dtype))
    return tf.while_loop(further, step, start)[1]


@in_module(
    {"x": normal(3), "way": np.array(0, np.int32)},
    {"a": normal(3), "b": normal(3, seed=1)},
    exact=("x", "way"),
)
def branches_0(m: Any, x: tf.Tensor, way: tf.Tensor) -> tf.Tensor:
    """The same function for branches that are taken and that are not."""
    y = tf.cond(tf.reduce_sum(x * m.a) > 0, lambda: x * m.a, lambda: tf.sin(x) + m.b)
    return tf.switch_case(way, [lambda: y * y, lambda: tf.exp(y) * m.b, lambda: x / m.a])


branches_1, branches_2 = (
    dataclasses.replace(
        branches_0,
        name=f"branches_{way}",
        inputs={**branches_0.inputs, "way": np.array(way, np.int32)},
    )
    for way in (1, 2)
)


@in_module(X, {"w": normal(3, 3)}, loaded=1)
def mapped(m: Any, x: tf.Tensor) -> dict[str, tf.Tensor]:
    y = tf.map_fn(lambda row: tf.linalg.matvec(m.w, tf.sin(row)), x)
    sums = tf.map_fn(
        lambda pair: tf.reduce_sum(pair[0] * pair[1]), (x, y), fn_output_signature=x.dtype
    )
    return {"y": y, "sums": sums}


@in_module(
    {"x": normal(4, 2)},
    {"w": normal(2), "b": normal(2, seed=1), "start": normal(2, seed=5)},
    loaded=1,
)
def arrays(m: Any, x: tf.Tensor) -> tf.Tensor:
    """Autograph turns this into a loop that writes a TensorArray and reads another."""
    rows = tf.TensorArray(x.dtype, size=0, dynamic_size=True)
    rows = rows.unstack(x)
    written = tf.TensorArray(x.dtype, size=tf.shape(x)[0], element_shape=[2])
    state = m.start
    for i in tf.range(tf.shape(x)[0]):
        state = tf.tanh(state * m.w + rows.read(i))
        if state[0] > 0:
            state = state * state
        written = written.write(i, state)
    return written.stack()


@in_module({"x": normal(4, 2)}, {"w": normal(2), "start": normal(2, seed=1)}, loaded=1)
def scanned(m: Any, x: tf.Tensor) -> tf.Tensor:
    states = tf.scan(lambda y, row: tf.tanh(y * m.w + row), x, m.start)
    total = tf.foldl(lambda y, row: y * 0.5 + row, states)
    return total + tf.foldr(lambda y, row: y * row, states)


@in_module({"x": normal(3, 2)}, {"w": normal(2, 2), "v": normal(2, 2, seed=1)})
def nested(m: Any, x: tf.Tensor) -> tf.Tensor:
    """Functions that call functions; one is called three times, one is compiled."""

    @tf.function
    def layer(y: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
        return tf.nn.softplus(y @ w)

    @tf.function
    def read(y: tf.Tensor) -> tf.Tensor:
        return layer(layer(y, m.w), m.w)

    @tf.function(jit_compile=True)
    def compiled(y: tf.Tensor) -> tf.Tensor:
        return tf.tanh(y @ m.w)

    return read(x) + layer(x, m.v) + compiled(x)


@model(X, signatures=("encode", "decode"))
def several_signatures() -> tf.Module:
    """An encoder and a decoder that share weights, and an output that depends on nothing else."""
    coder = in_module(X, {"w": normal(3, 2), "b": normal(3), "unused": normal(2)})
    made = coder(
        lambda m, x: {"code": tf.tanh(x @ m.w), "unrelated": tf.ones([2], x.dtype)}
    ).build()
    made.decode = tf.function(
        lambda x: tf.tanh(x @ made.w) @ tf.transpose(made.w) + made.b,
        input_signature=made.serve.input_signature,
    )
    made.signatures_to_save = {"encode": made.serve, "decode": made.decode}
    return made


@in_module(
    {"x": normal(2, 3), "z": normal(2, 3)},
    {"table": normal(4, 3), "stopped": normal(3, seed=1)},
    frozen={"rows": np.array([2, 0], np.int32), "frozen": normal(3)},
    exact=("x", "z"),
)
def partly_stopped(m: Any, x: tf.Tensor, z: tf.Tensor) -> dict[str, tf.Tensor]:
    """Inputs and variables with and without a gradient, an integer variable too."""
    kept = tf.gather(m.table, m.rows) * x
    stopped = tf.stop_gradient(m.stopped * z)
    return {"y": kept + stopped, "z": tf.round(z) * m.frozen, "largest": tf.argmax(x, axis=1)}


@in_module(
    {"x": normal(3, 2), "new": normal(2, 2)},
    {"scale": np.array(0.3), "noise": np.array(0.1), "y": normal(3)},
    exact=("x",),
)
def algebra(m: Any, x: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
    """A Gaussian process: the mean at new points."""

    def kernel(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        distance = tf.reduce_sum((a[:, None] - b[None]) ** 2, -1)
        return tf.exp(-distance / tf.exp(m.scale))

    noise = tf.exp(m.noise) * tf.eye(3, dtype=x.dtype)
    factor = tf.linalg.cholesky(kernel(x, x) + noise)
    solved = tf.linalg.cholesky_solve(factor, m.y[:, None])
    mean = tf.einsum("ij,jk->ik", kernel(new, x), solved)
    return mean + tf.linalg.logdet(factor @ tf.transpose(factor))


@in_module(X, {"w": normal(3, 3)})
def vectorized(m: Any, x: tf.Tensor) -> dict[str, tf.Tensor]:
    """A vectorized map over rows, and a gradient that the function computes itself."""
    y = tf.vectorized_map(lambda row: tf.tanh(tf.linalg.matvec(m.w, row)), x)
    (force,) = tf.gradients(tf.reduce_sum(y * y), [x])
    force = -tf.convert_to_tensor(force)
    return {"energy": tf.reduce_sum(y * y, -1), "force": force}


def with_dropout() -> keras.export.ExportArchive:
    """A model for inference and for training."""
    made = keras.Sequential([keras.Input([3]), keras.layers.Dense(2), keras.layers.Dropout(0.5)])
    archive = keras.export.ExportArchive()
    archive.track(made)
    for name, training in (("serve", False), ("train", True)):
        archive.add_endpoint(
            name,
            lambda x, training=training: made(x, training=training),
            [tf.TensorSpec([None, 3], keras.config.floatx(), "x")],
        )
    return archive


endpoints = Model("endpoints", with_dropout, X, signatures=["serve"])
training = Model("training", with_dropout, X, signatures=["train"], error=RUNS_AGAIN, random=True)
