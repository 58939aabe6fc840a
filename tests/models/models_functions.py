# SPDX-License-Identifier: Apache-2.0
"""Modules of `tf.function`, with the control flow that people write."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from model import Model, module
from random_values import normal


def spec(dtype: str, *shape: int | None) -> tf.TensorSpec:
    return tf.TensorSpec(shape, dtype)


def fixed_point(dtype: str) -> tf.Module:
    """As often as it takes: y = tanh(y w + x)."""

    def function(m: Any, x: tf.Tensor) -> tf.Tensor:
        def step(i: tf.Tensor, y: tf.Tensor, change: tf.Tensor) -> tuple[Any, ...]:
            new = tf.tanh(y @ m.w + x)
            return i + 1, new, tf.norm(new - y)

        def further(i: tf.Tensor, y: tf.Tensor, change: tf.Tensor) -> tf.Tensor:
            del y
            return tf.logical_and(i < 20, change > 0.05)

        start = (0, tf.zeros_like(x), tf.constant(1, dtype))
        return tf.while_loop(further, step, start)[1]

    w = normal(3, 3).astype(dtype) / 3
    return module(function, {"w": w}, x=spec(dtype, None, 3))


def branches(dtype: str) -> tf.Module:
    """The same function for branches that are taken and that are not."""

    def function(m: Any, x: tf.Tensor, way: tf.Tensor) -> tf.Tensor:
        y = tf.cond(tf.reduce_sum(x * m.a) > 0, lambda: x * m.a, lambda: tf.sin(x) + m.b)
        return tf.switch_case(way, [lambda: y * y, lambda: tf.exp(y) * m.b, lambda: x / m.a])

    values = {name: normal(3, seed=k).astype(dtype) for k, name in enumerate("ab")}
    way = tf.TensorSpec([], tf.int32)
    return module(function, values, x=spec(dtype, 3), way=way)


def mapped(dtype: str) -> tf.Module:
    def function(m: Any, x: tf.Tensor) -> dict[str, tf.Tensor]:
        y = tf.map_fn(lambda row: tf.linalg.matvec(m.w, tf.sin(row)), x)
        sums = tf.map_fn(
            lambda pair: tf.reduce_sum(pair[0] * pair[1]),
            (x, y),
            fn_output_signature=tf.as_dtype(dtype),
        )
        return {"y": y, "sums": sums}

    w = normal(3, 3).astype(dtype)
    return module(function, {"w": w}, x=spec(dtype, None, 3))


def arrays(dtype: str) -> tf.Module:
    """What autograph makes of a loop that writes a TensorArray and reads another."""

    def function(m: Any, x: tf.Tensor) -> tf.Tensor:
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

    values = {name: normal(2, seed=k).astype(dtype) for k, name in enumerate("wb")}
    values["start"] = normal(2, seed=5).astype(dtype)
    return module(function, values, x=spec(dtype, None, 2))


def scanned(dtype: str) -> tf.Module:
    def function(m: Any, x: tf.Tensor) -> tf.Tensor:
        states = tf.scan(lambda y, row: tf.tanh(y * m.w + row), x, m.start)
        total = tf.foldl(lambda y, row: y * 0.5 + row, states)
        return total + tf.foldr(lambda y, row: y * row, states)

    values = {"w": normal(2).astype(dtype), "start": normal(2, seed=1).astype(dtype)}
    return module(function, values, x=spec(dtype, None, 2))


def nested(dtype: str) -> tf.Module:
    """Functions that call functions; one of them three times, one compiled."""

    def function(m: Any, x: tf.Tensor) -> tf.Tensor:
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

    values = {name: normal(2, 2, seed=k).astype(dtype) for k, name in enumerate("wv")}
    return module(function, values, x=spec(dtype, None, 2))


def several_signatures(dtype: str) -> tf.Module:
    """An encoder and a decoder of the same weights, and one that leads to no other."""
    made = module(
        lambda m, x: {"code": tf.tanh(x @ m.w), "unrelated": tf.ones([2], dtype)},
        {
            "w": normal(3, 2).astype(dtype),
            "b": normal(3).astype(dtype),
            "unused": normal(2).astype(dtype),
        },
        x=spec(dtype, None, 3),
    )
    made.decode = tf.function(
        lambda x: tf.tanh(x @ made.w) @ tf.transpose(made.w) + made.b,
        input_signature=[tf.TensorSpec([None, 3], dtype, "x")],
    )
    made.signatures_to_save = {"encode": made.serve, "decode": made.decode}
    return made


def partly_stopped(dtype: str) -> tf.Module:
    """Inputs and variables with and without a gradient, an integer variable too."""

    def function(m: Any, x: tf.Tensor, z: tf.Tensor) -> dict[str, tf.Tensor]:
        kept = tf.gather(m.table, m.rows) * x
        stopped = tf.stop_gradient(m.stopped * z)
        return {"y": kept + stopped, "z": tf.round(z) * m.frozen, "largest": tf.argmax(x, axis=1)}

    rows = tf.Variable([2, 0], trainable=False, dtype=tf.int32)
    frozen = tf.Variable(normal(3).astype(dtype), trainable=False)
    values = {
        "table": normal(4, 3).astype(dtype),
        "rows": rows,
        "stopped": normal(3, seed=1).astype(dtype),
        "frozen": frozen,
    }
    return module(function, values, x=spec(dtype, 2, 3), z=spec(dtype, 2, 3))


def algebra(dtype: str) -> tf.Module:
    """A Gaussian process: the mean at new places."""

    def function(m: Any, x: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
        def kernel(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
            distance = tf.reduce_sum((a[:, None] - b[None]) ** 2, -1)
            return tf.exp(-distance / tf.exp(m.scale))

        noise = tf.exp(m.noise) * tf.eye(3, dtype=dtype)
        factor = tf.linalg.cholesky(kernel(x, x) + noise)
        solved = tf.linalg.cholesky_solve(factor, m.y[:, None])
        mean = tf.einsum("ij,jk->ik", kernel(new, x), solved)
        return mean + tf.linalg.logdet(factor @ tf.transpose(factor))

    values = {
        "scale": np.array(0.3, dtype),
        "noise": np.array(0.1, dtype),
        "y": normal(3).astype(dtype),
    }
    arguments = {"x": spec(dtype, 3, 2), "new": spec(dtype, None, 2)}
    return module(function, values, **arguments)


def vectorized(dtype: str) -> tf.Module:
    """A map of rows at once, and a gradient that the function takes itself."""

    def function(m: Any, x: tf.Tensor) -> dict[str, tf.Tensor]:
        y = tf.vectorized_map(lambda row: tf.tanh(tf.linalg.matvec(m.w, row)), x)
        (force,) = tf.gradients(tf.reduce_sum(y * y), [x])
        force = -tf.convert_to_tensor(force)
        return {"energy": tf.reduce_sum(y * y, -1), "force": force}

    w = normal(3, 3).astype(dtype)
    return module(function, {"w": w}, x=spec(dtype, None, 3))


def endpoints(dtype: str) -> keras.export.ExportArchive:
    """A model with dropout, as it is used and as it is while it is trained."""
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2), keras.layers.Dropout(0.5)])
    archive = keras.export.ExportArchive()
    archive.track(model)
    for name, training in (("serve", False), ("train", True)):
        archive.add_endpoint(
            name,
            lambda x, training=training: model(x, training=training),
            [tf.TensorSpec([None, 3], dtype, "x")],
        )
    return archive


X = {"x": normal(4, 3)}
MODELS = [
    Model("fixed_point", fixed_point, {"x": normal(2, 3)}, loops=True),
    *(
        Model(f"branches_{way}", branches, {"x": normal(3), "way": np.array(way, np.int32)})
        for way in range(3)
    ),
    Model("mapped", mapped, X, loops=True),
    Model("arrays", arrays, {"x": normal(4, 2)}, loops=True),
    Model("scanned", scanned, {"x": normal(4, 2)}, loops=True),
    Model("nested", nested, {"x": normal(3, 2)}),
    Model("several_signatures", several_signatures, X, signatures=("encode", "decode")),
    Model("partly_stopped", partly_stopped, {"x": normal(2, 3), "z": normal(2, 3)}),
    Model("algebra", algebra, {"x": normal(3, 2), "new": normal(2, 2)}),
    Model("vectorized", vectorized, X),
    Model("endpoints", endpoints, X, signatures=["serve"]),
    Model(
        "training",
        endpoints,
        X,
        signatures=["train"],
        error="The gradient runs the function again",
        random=True,
    ),
]
