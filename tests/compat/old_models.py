"""The models that old files hold, built as a user's program builds them.

Weights and checkpoints are loaded into the models that this module builds today. It uses the stable
interface as it was used when the files were written.
"""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

import tensorflow_ext as tfe
from tensorflow_ext import layers, raw_ops

SIZE = 6


def _matrix(rows: int, columns: int, phase: float) -> np.ndarray:
    """Numbers that are the same with every version of NumPy."""
    return np.sin(phase + 1.7 * np.arange(rows * columns)).reshape(rows, columns)


@tf.custom_gradient
def _shifted_mish(x: tf.Tensor) -> Any:
    """mish with a gradient that is taken at x + 0.5."""
    return tfe.mish(x), lambda dy: raw_ops.mish_grad(dy, x + 0.5)


class Module(tf.Module):
    """Ops of this library between variables, and gradients other than the ops'."""

    def __init__(self) -> None:
        super().__init__()
        self.table = tf.Variable(_matrix(7, SIZE, 0), dtype=tf.float32, name="table")
        self.weight = tf.Variable(_matrix(SIZE, SIZE, 1), dtype=tf.float32, name="w")
        self.scale = tf.Variable(tf.ones(SIZE), name="scale")

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 3], tf.int32, "words"),
            tf.TensorSpec([None, SIZE], tf.float32, "x"),
        ]
    )
    def predict(self, words: tf.Tensor, x: tf.Tensor) -> dict[str, tf.Tensor]:
        hidden = tfe.embedding_bag(words, self.table, combiner="mean")
        hidden = tfe.rms_norm(hidden + tfe.gelu(x @ self.weight), self.scale).y
        hidden = tfe.swiglu(hidden, tfe.lisht(hidden))
        return {
            "y": tfe.snake(hidden, 0.5),
            "reversed": tfe.reverse_gradient(hidden, scale=0.25),
            "sparse": tfe.sparsemax(hidden),
        }

    @tf.function(input_signature=[tf.TensorSpec([None, SIZE], tf.float32, "x")])
    def custom(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        hidden = _shifted_mish(x @ self.weight)
        with tfe.override_gradient({"Sign": "TfExt>SignStraightThrough"}):
            return {"sign": tf.sign(hidden), "y": hidden}


def keras_model() -> keras.Model:
    """A model with every layer of this library."""
    words = keras.Input([3], dtype="int32", name="words")
    image = keras.Input([5, 6, 2], name="image")
    rois = keras.Input([5], name="rois")

    x = layers.EmbeddingBag(7, SIZE, mask_zero=True, combiner="mean")(words)
    x = keras.layers.Dense(SIZE, activation=tfe.mish)(x)
    x = layers.LayerNormalization(epsilon=0.25, beta_initializer="ones")(x)
    x = layers.Snake(keras.initializers.Constant(0.5), per_channel=True)(x)
    schedule = layers.DomainAdversarialSchedule(4, gamma=5.0)
    reversals = (layers.GradientReversal(scale) for scale in (0.5, schedule))
    x = keras.layers.Add()([reversal(x) for reversal in reversals])
    x = layers.RmsNormalization(epsilon=0.5)(x)
    x = layers.MagnitudePruning(
        sparsity=layers.PolynomialSparsity(0.25, 0.75, 1, 3, 2.0, frequency=1)
    )(x)
    x = layers.RReLU(0.25, 0.5, seed=1)(x)
    x = layers.SwiGLU()([x, layers.HardShrink(-0.75, 0.25)(x)])
    x = layers.GELU(approximate=False)(layers.Mish()(x))
    shrunk = layers.TanhShrink()(layers.SoftShrink(-0.01, 0.02)(x))

    costs = layers.CorrelationCost(1, 1, 1, 1, 1)([image, image])
    costs = keras.layers.GlobalAveragePooling2D()(costs)
    flow = layers.SignQuantizer(clip=0.5)(image)
    warped = layers.DenseImageWarp()([image, flow])
    warped = layers.Resampler()([warped, flow])
    regions = layers.RoiPooling(2, 3, spatial_scale=0.5)([image, rois])
    aligned = layers.RoiAlign(2, 3, 0.5, sampling_ratio=2, aligned=False)([image, rois])
    outputs = {
        "bags": layers.LiSHT()(x),
        "shrunk": shrunk,
        "sparse": layers.Sparsemax(axis=-1)(x),
        "costs": costs,
        "warped": warped,
        "regions": keras.layers.Add()([regions, aligned]),
    }
    return keras.Model([words, image, rois], outputs)


def fill(model: keras.Model) -> None:
    """Gives the model's weights values that no initializer gives."""
    for i, variable in enumerate(model.trainable_variables):
        size = int(np.prod(variable.shape))
        variable.assign(_matrix(1, size, i + 1).reshape(variable.shape))


def inputs() -> dict[str, np.ndarray]:
    """The inputs of the models, by name."""
    image = np.cos(0.37 * np.arange(4 * 5 * 6 * 2)).reshape(4, 5, 6, 2)
    words = [[1, 2, 0], [0, 3, 5], [4, 4, 3], [0, 5, 6]]
    rois = [[0, 1, 2, 9, 8], [1, 3, 0, 11, 7], [1, 0, 0, 4, 9], [0, 2, 2, 3, 4]]
    return {
        "words": np.array(words, np.int32),
        "x": _matrix(4, SIZE, 2).astype(np.float32),
        "image": image.astype(np.float32),
        "rois": np.array(rois, np.float32),
    }
