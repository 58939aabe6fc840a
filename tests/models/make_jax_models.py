"""Writes the models of jax_models_test: models that JAX exports, and JAX's gradients of them.

No test runs this. The packages:

    python3.11 -m venv VENV
    VENV/bin/pip install tensorflow-cpu==2.21.0 keras==3.15.1 jax==0.4.38 jaxlib==0.4.38
    VENV/bin/python tests/models/make_jax_models.py

Each exported_by_jax/NAME.zip holds a SavedModel and

    placeholders.pb  a GraphDef with the upstream gradients, and with the weights of the first
                     gradients for a second order
    names.json       the names of the outputs, of the inputs and variables, and of these
    values.npz       the values to feed, by the tensor's name, and JAX's gradients by the inputs
                     and variables, by "gradient " and the tensor's name
"""

import functools
import io
import json
import os
import pathlib
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

os.environ["KERAS_BACKEND"] = "jax"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import jax
import jax.numpy as jnp
import keras
import numpy as np
import tensorflow as tf
from jax.experimental import jax2tf
from tensorflow.core.protobuf import saved_model_pb2

HERE = pathlib.Path(__file__).absolute().parent
RNG = np.random.default_rng(7)


class Saved(NamedTuple):
    """A model that has been saved.

    Attributes:
      function: Takes lists of variables and of inputs, and returns the outputs.
      variables: The values.
      inputs: The values to feed, in the signature's alphabetical order.
    """

    function: Callable[[list[Any], list[Any]], list[Any]]
    variables: list[np.ndarray]
    inputs: list[np.ndarray]


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


# ---- JAX functions, converted as the README of jax2tf says


def converted(
    folder: str,
    function: Callable[..., Any],
    variables: Sequence[np.ndarray],
    x: np.ndarray,
    **settings: Any,
) -> Saved:
    """Saves a function of variables and an input with any number of rows."""
    made = tf.Module()
    made.v = [tf.Variable(value, name=f"v{k}") for k, value in enumerate(variables)]
    shapes = [None, f"b, {', '.join(map(str, x.shape[1:]))}"]
    in_tensorflow = jax2tf.convert(function, with_gradient=True, polymorphic_shapes=shapes)
    made.serve = tf.function(
        lambda x: in_tensorflow(made.v, x),
        autograph=False,
        input_signature=[tf.TensorSpec([None, *x.shape[1:]], x.dtype, "x")],
        **settings,
    )
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
    tf.saved_model.save(made, folder, made.serve, options)
    return Saved(lambda v, xs: jax.tree.leaves(function(v, *xs)), list(variables), [x])


def _mlp(v: Any, x: Any) -> Any:
    a, b, c, d = v
    return jax.nn.gelu(x @ a + b) @ c + d


def _mlp_variables() -> list[np.ndarray]:
    return [normal(3, 5), normal(5), normal(5, 2), normal(2)]


def mlp(folder: str) -> Saved:
    return converted(folder, _mlp, _mlp_variables(), normal(4, 3))


def mlp_gradient(folder: str) -> Saved:
    """The gradients are JAX's second order."""

    def loss(v: Any, x: Any) -> Any:
        return jnp.sum(jnp.sin(_mlp(v, x)))

    def gradients(v: Any, x: Any) -> dict[str, Any]:
        by_variables, by_input = jax.grad(loss, (0, 1))(v, x)
        return {**{f"by_v{k}": g for k, g in enumerate(by_variables)}, "by_x": by_input}

    return converted(folder, gradients, _mlp_variables(), normal(4, 3))


def convolution(folder: str) -> Saved:
    def function(v: Any, x: Any) -> Any:
        kernel, bias, depthwise = v
        form = ("NHWC", "HWIO", "NHWC")
        y = jax.lax.conv_general_dilated(x, kernel, (2, 1), "SAME", dimension_numbers=form)
        y = jax.nn.silu(y + bias)
        y = jax.lax.conv_general_dilated(
            y, depthwise, (1, 1), "VALID", (1, 1), (2, 1), form, feature_group_count=4
        )
        return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 1, 2, 1), (1, 1, 2, 1), "VALID")

    variables = [normal(3, 3, 2, 4), normal(4), normal(2, 2, 1, 4)]
    return converted(folder, function, variables, normal(2, 7, 6, 2))


def scan(folder: str) -> Saved:
    """A recurrent network in double, in a function that TensorFlow compiles."""

    def function(v: Any, x: Any) -> dict[str, Any]:
        w, u, start = v

        def step(state: Any, row: Any) -> tuple[Any, Any]:
            state = jnp.tanh(state @ w + row @ u)
            return state, jnp.sum(state * state, -1)

        states = jnp.broadcast_to(start, (x.shape[0], *start.shape))
        last, norms = jax.lax.scan(step, states, jnp.swapaxes(x, 0, 1))
        return {"last": last, "norms": norms}

    double = functools.partial(normal, dtype="float64")
    variables = [double(3, 3), double(2, 3), double(3)]
    return converted(folder, function, variables, double(2, 5, 2), jit_compile=True)


# ---- Keras on JAX


def exported(folder: str, x: np.ndarray, layers: Callable[[Any], Any]) -> Saved:
    tensor = keras.Input(x.shape[1:], name="x")
    made = keras.Model(tensor, layers(tensor))
    # Zeros and ones, Keras' initial values, hide factors.
    for variable in made.variables:
        if variable.dtype == "float32":
            variable.assign(np.asarray(variable) + RNG.uniform(0.1, 0.4, variable.shape))
    made.export(folder, verbose=False)
    trained = len(made.trainable_variables)
    variables = [*made.trainable_variables, *made.non_trainable_variables]

    def function(v: list[Any], inputs: list[Any]) -> list[Any]:
        return [made.stateless_call(v[:trained], v[trained:], *inputs)[0]]

    return Saved(function, [np.asarray(v) for v in variables], [x])


def keras_dense(folder: str) -> Saved:
    def layers(x: Any) -> Any:
        y = keras.layers.Dense(5, activation="gelu")(x)
        return keras.layers.Dense(2)(keras.layers.LayerNormalization()(y))

    return exported(folder, normal(4, 3), layers)


def keras_convolution(folder: str) -> Saved:
    def layers(x: Any) -> Any:
        y = keras.layers.Conv2D(3, 3, strides=2, padding="same")(x)
        y = keras.layers.BatchNormalization()(y)
        y = keras.layers.MaxPooling2D(2)(keras.layers.Activation("swish")(y))
        return keras.layers.Dense(2)(keras.layers.GlobalAveragePooling2D()(y))

    return exported(folder, normal(2, 9, 8, 2), layers)


def keras_transformer(folder: str) -> Saved:
    def layers(x: Any) -> Any:
        # The gradient by the bias of the keys would be zero.
        attention = keras.layers.MultiHeadAttention(2, 3, dropout=0.1, use_bias=False)
        y = keras.layers.LayerNormalization()(x + attention(x, x, use_causal_mask=True))
        hidden = keras.layers.Dense(8, activation="gelu")(y)
        return keras.layers.LayerNormalization()(y + keras.layers.Dense(4)(hidden))

    return exported(folder, normal(2, 5, 4), layers)


# ---- Archives


def names_of_variables(folder: str, signature: Any) -> list[tuple[str, np.ndarray]]:
    """The handles of the variables that a signature takes, with their values."""
    loaded = tf.saved_model.load(folder)
    function = loaded.signatures["serving_default"]
    content = pathlib.Path(folder, "saved_model.pb").read_bytes()
    (meta_graph,) = saved_model_pb2.SavedModel.FromString(content).meta_graphs
    call_name = next(iter(signature.outputs.values())).name.partition(":")[0]
    (call,) = (node for node in meta_graph.graph_def.node if node.name == call_name)
    handles = call.input[len(call.input) - len(function.captured_inputs) :]
    variables = {id(v.handle): v.numpy() for v in function.variables}
    return [
        (f"{handle}:0", variables[id(tensor)])
        for handle, tensor in zip(handles, function.captured_inputs, strict=True)
    ]


def write(name: str, save: Callable[[str], Saved]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        saved = save(folder)
        content = pathlib.Path(folder, "saved_model.pb").read_bytes()
        (meta_graph,) = saved_model_pb2.SavedModel.FromString(content).meta_graphs
        signature = meta_graph.signature_def["serving_default"]
        ys, vjp = jax.vjp(saved.function, saved.variables, saved.inputs)
        upstream = [normal(*y.shape, dtype=y.dtype) for y in ys]
        by_variables, by_inputs = vjp([jnp.asarray(u) for u in upstream])

        # TensorFlow and JAX sort dictionaries by their keys.
        inputs = [signature.inputs[key].name for key in sorted(signature.inputs)]
        outputs = [signature.outputs[key].name for key in sorted(signature.outputs)]
        feeds = dict(zip(inputs, saved.inputs, strict=True))
        gradients = dict(zip(inputs, by_inputs, strict=True))
        for handle, value in names_of_variables(folder, signature):
            (k,) = (k for k, v in enumerate(saved.variables) if np.array_equal(v, value))
            if value.dtype.kind == "f":  # no state of a random generator
                gradients[handle] = by_variables[k]
        found = gradients.values()
        weights = {f"weight_{k}:0": normal(*g.shape, dtype=g.dtype) for k, g in enumerate(found)}
        fed = {f"upstream_{k}:0": u for k, u in enumerate(upstream)} | weights
        placeholders = tf.Graph()
        with placeholders.as_default():
            for tensor, value in fed.items():
                tf.compat.v1.placeholder(value.dtype, value.shape, tensor.partition(":")[0])

        names = {
            "ys": outputs,
            "xs": list(gradients),
            "upstream": [*fed][: len(ys)],
            "weights": [*weights],
        }
        values = io.BytesIO()
        arrays: dict[str, Any] = {f"gradient {x}": np.asarray(g) for x, g in gradients.items()}
        assert all(a.any() and np.isfinite(a).all() for a in arrays.values())
        np.savez(values, **(arrays | feeds | fed))
        members = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(pathlib.Path(folder).rglob("*"))
            if path.is_file() and path.name != "fingerprint.pb"
        }
        members |= {
            "placeholders.pb": placeholders.as_graph_def().SerializeToString(),
            "names.json": json.dumps(names, indent=1).encode(),
            "values.npz": values.getvalue(),
        }
    with zipfile.ZipFile(HERE / "exported_by_jax" / f"{name}.zip", "w") as archive:
        for member, data in members.items():
            info = zipfile.ZipInfo(member)  # without the time, which differs in every run
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    keras.utils.set_random_seed(7)
    for save in (
        mlp,
        mlp_gradient,
        convolution,
        scan,
        keras_dense,
        keras_convolution,
        keras_transformer,
    ):
        write(save.__name__, save)
