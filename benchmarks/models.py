"""Whole models, as Keras exports them, differentiated by TF_AddGradients and in Python.

Both sides have the SavedModel's graph, with the calls in its signature inlined, and the mean of the
squared outputs as loss. Each side adds the gradients of all trained variables. networks.py makes
the same comparison.
"""

import pathlib
import tempfile
from collections.abc import Callable

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


def _export(
    model: keras.Model, batch: int, folder: pathlib.Path
) -> Callable[[Client], tuple[networks.Side, networks.Side]]:
    """Exports a model; returns a function that differentiates its graph with a loss."""
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
    restore = saver.restore_op_name, {saver.filename_tensor_name: file}

    def differentiate(client: Client) -> tuple[networks.Side, networks.Side]:
        with tf.Graph().as_default() as imported:
            tf.graph_util.import_graph_def(graph.as_graph_def(), name="")
        return networks.differentiate(client, imported, loss.name, handles, batch, restore)

    return differentiate


def run() -> list[measure.Result]:
    client = Client(tensorflow_dir(), f"{sysconfig.get_lib()}/libtensorflow_ext.so")
    results = []
    for name, (make, batch, rounds) in MODELS.items():
        keras.utils.set_random_seed(1)
        with tempfile.TemporaryDirectory() as folder:
            differentiate = _export(make(), batch, pathlib.Path(folder))
            keras.backend.clear_session()
            sides = [differentiate(client) for _ in range(rounds)]
            results += networks.rows(GROUP, f"{name}, batch {batch}", sides, TIME_BAR, rounds=7)
    return results
