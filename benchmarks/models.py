# SPDX-License-Identifier: Apache-2.0
"""Whole models, as Keras exports them, differentiated by TF_AddGradients and in Python.

Both sides have the SavedModel's graph, with the calls in its signature inlined, and the mean of the
squared outputs as loss. Each side adds the gradients of all trained variables. networks.py makes
the same comparison.
"""

import dataclasses
import pathlib
import tempfile
import time
from collections.abc import Callable, Sequence

import keras
import measure
import networks
import tensorflow as tf
from c_client import Client, tensorflow_dir
from keras import layers

import tensorflow_ext as tfe
from tensorflow_ext import sysconfig

GROUP = "TF_AddGradients on models of Keras"
TIME_BAR = 0.1
v1 = tf.compat.v1


def resnet_50() -> keras.Model:
    """A residual network of 50 layers, for images of 224 x 224."""
    return keras.applications.ResNet50(weights=None)


def encoder() -> keras.Model:
    """12 layers of a transformer's encoder in the sizes of BERT base.

    Source: J. Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for
    Language Understanding", arXiv:1810.04805.
    """
    width, heads, inner, length = 768, 12, 3072, 128
    y = x = keras.Input([length, width], name="x")
    for _ in range(12):
        attention = layers.MultiHeadAttention(heads, width // heads)
        y = layers.LayerNormalization()(y + attention(y, y))
        z = layers.Dense(inner, activation="gelu")(y)
        y = layers.LayerNormalization()(y + layers.Dense(width)(z))
    return keras.Model(x, y)


def lstm() -> keras.Model:
    """An LSTM over 500 steps, unrolled, because a loop would be a function that runs repeatedly."""
    x = keras.Input([500, 26], name="x")
    y = layers.LSTM(64, unroll=True)(x)
    return keras.Model(x, layers.Dense(10)(y))


# The batch size and the number of differentiations of each side.
MODELS: dict[str, tuple[Callable[[], keras.Model], int, int]] = {
    "ResNet-50": (resnet_50, 2, 3),
    "encoder of 12 layers": (encoder, 1, 3),
    "LSTM over 500 steps": (lstm, 1, 3),
}


@dataclasses.dataclass
class _Model:
    """A model that Keras exported.

    Attributes:
      graph: The graph of the SavedModel with the loss.
      loss: The name of the loss.
      handles: The names of the handles of the trained variables.
      batch: As in networks.Side.
      restore: As in networks.Side.
    """

    graph: tf.compat.v1.GraphDef
    loss: str
    handles: list[str]
    batch: int
    restore: tuple[str, dict[str, str]]


def _export(model: keras.Model, batch: int, folder: pathlib.Path) -> _Model:
    model.export(str(folder), verbose=False)
    rows = tfe.describe_saved_model(str(folder))
    handles = [
        f"{row[3]}:0"
        for row in rows
        if row[:3] == ["signature", "serving_default", "variable"] and row[-1] == "trainable"
    ]
    with tf.Graph().as_default() as graph, v1.Session() as session:
        meta_graph = v1.saved_model.load(session, ["serve"], str(folder))
        (output,) = meta_graph.signature_def["serving_default"].outputs.values()
        (inlined,) = tfe.gradients.inline_calls([output.name])
        loss = tf.reduce_mean(tf.square(inlined))
    saver = meta_graph.saver_def
    file = str(folder / "variables" / "variables")
    return _Model(
        graph.as_graph_def(),
        loss.name,
        handles,
        batch,
        (saver.restore_op_name, {saver.filename_tensor_name: file}),
    )


def _differentiate(client: Client, model: _Model) -> tuple[networks.Side, networks.Side]:
    """Our side, and Python's."""

    def side(
        graph: tf.Graph, gradients: Sequence[str | None], seconds: float, before: int
    ) -> networks.Side:
        fetches = [model.loss, *(name for name in gradients if name)]
        assert len(fetches) == len(model.handles) + 1, "a variable has no gradient"
        nodes = len(graph.get_operations()) - before
        return networks.Side(graph, fetches, seconds, nodes, model.batch, model.restore)

    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(model.graph, name="")
        before = len(graph.get_operations())
        loss = graph.get_tensor_by_name(model.loss)
        handles = [graph.get_tensor_by_name(name) for name in model.handles]
        start = time.perf_counter()
        found = tf.gradients(loss, handles)
        seconds = time.perf_counter() - start
        python = side(graph, [dx.name for dx in found], seconds, before)

    c_graph = client.import_graph(model.graph.SerializeToString())
    start = time.perf_counter()
    names = c_graph.gradients([model.loss], model.handles, [])
    seconds = time.perf_counter() - start
    with tf.Graph().as_default() as graph:
        graph_def = v1.GraphDef.FromString(c_graph.graph_def())
        tf.graph_util.import_graph_def(graph_def, name="")
    return side(graph, names, seconds, before), python


def run() -> list[measure.Result]:
    client = Client(tensorflow_dir(), f"{sysconfig.get_lib()}/libtensorflow_ext.so")
    results = []
    for name, (make, batch, rounds) in MODELS.items():
        keras.utils.set_random_seed(1)
        with tempfile.TemporaryDirectory() as folder:
            model = _export(make(), batch, pathlib.Path(folder))
            keras.backend.clear_session()
            sides = [_differentiate(client, model) for _ in range(rounds)]
            results += networks.rows(GROUP, f"{name}, batch {batch}", sides, TIME_BAR, rounds=7)
    return results
