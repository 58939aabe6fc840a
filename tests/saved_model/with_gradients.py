"""Models that bring a gradient, and their gradient in C."""

import pathlib
from typing import Any

import numpy as np
import tensorflow as tf
from c_client import Graph

X = "serving_default_x:0"
Y = "StatefulPartitionedCall:0"
TABLE = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(tf.constant(["factor"]), tf.constant([3.0])), 0.0
)


def reversing(factor: float) -> Any:
    @tf.custom_gradient
    def reverse(x: tf.Tensor) -> Any:
        return x * 1.0, lambda dy: dy * factor

    return reverse


def save(folder: pathlib.Path, function: Any, **options: Any) -> pathlib.Path:
    module = tf.Module()
    module.w = tf.Variable(2.0)
    module.table = TABLE
    spec = tf.TensorSpec([], name="x")
    module.f = tf.function(lambda x: {"y": function(x * module.w)}, input_signature=[spec])
    path = str(folder / "model")
    tf.saved_model.save(
        module, path, {"serving_default": module.f}, tf.saved_model.SaveOptions(**options)
    )
    return pathlib.Path(path)


def gradient(graph: Graph) -> float:
    (name,) = graph.gradients([Y], [X], [])
    assert name is not None
    return float(graph.run([name], {X: np.array(1, np.float32)})[0])
