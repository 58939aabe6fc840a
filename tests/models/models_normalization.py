"""Models of dense layers, normalization, activations and regularization."""

from typing import Any

import keras
from keras import layers
from model import Layers, model
from random_values import normal


@model({"x": normal(2, 4)})
def dense() -> Layers:
    return [layers.Dense(5, activation="tanh"), layers.Dense(3)]


@model({"x": normal(2, 4)})
def classifier() -> Layers:
    return [
        layers.Dense(6, activation="gelu"),
        layers.LayerNormalization(),
        layers.Dropout(0.5),
        layers.Dense(3, activation="softmax"),
    ]


@model({"x": normal(2, 3, 4, 4)})
def normalizations() -> Layers:
    return [
        layers.GroupNormalization(2),
        layers.Conv2D(4, 2),
        layers.BatchNormalization(axis=1, scale=False),
        layers.LayerNormalization(axis=[1, 2], center=False),
        layers.RMSNormalization(),
        layers.UnitNormalization(),
    ]


@model({"x": normal(2, 4, 3)})
def spectral() -> Layers:
    return [
        layers.SpectralNormalization(layers.Conv1D(2, 2)),
        layers.Flatten(),
        layers.SpectralNormalization(layers.Dense(2), power_iterations=2),
    ]


@model({"x": normal(2, 3)})
def frozen() -> Layers:
    """A frozen layer before a trainable one."""
    base = layers.Dense(4, activation="relu")
    base.trainable = False
    return [base, layers.Dense(2), layers.BatchNormalization()]


@model({"x": normal(2, 3, 4)})
def activation_layers() -> Layers:
    return [
        layers.PReLU(shared_axes=[1]),
        layers.Dense(4),
        layers.ELU(0.7),
        layers.Dense(4),
        layers.LeakyReLU(),
        layers.Dense(4),
        layers.ReLU(max_value=1.5, negative_slope=0.1, threshold=0.2),
        layers.Dense(4),
        layers.Softmax(axis=1),
    ]


ACTIVATIONS = """
celu exponential glu gelu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu linear
log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign
sparse_plus sparsemax sparse_sigmoid squareplus tanh tanh_shrink threshold
"""


@model({"x": 2 * normal(2, 4)})
def activations(x: Any) -> Any:
    """Every activation of Keras, of the same 4 numbers times others."""
    outputs = [
        layers.Activation(
            (lambda y: keras.activations.threshold(y, 0.1, 0.0)) if name == "threshold" else name
        )(layers.Dense(4, name=name)(x))
        for name in ACTIVATIONS.split()
    ]
    return layers.Concatenate()(outputs)


@model({"x": normal(2, 3, 4, 2)}, newer_keras=["float64"])  # 3.12 multiplies float by double
def regularized() -> Layers:
    """Layers that are active only in training."""
    return [
        layers.GaussianNoise(0.5),
        layers.SpatialDropout2D(0.5),
        layers.Reshape([12, 2]),
        layers.SpatialDropout1D(0.5),
        layers.Reshape([3, 2, 2, 2]),
        layers.SpatialDropout3D(0.5),
        layers.Reshape([3, 4, 2]),
        layers.Conv2D(3, 2, kernel_regularizer="l2", activity_regularizer="l1"),
        layers.AlphaDropout(0.5),
        layers.GaussianDropout(0.5),
        layers.ActivityRegularization(l1=0.1, l2=0.1),
        layers.Flatten(),
        layers.Dense(2, kernel_constraint="max_norm", bias_regularizer="l1"),
    ]


@model({"x": normal(2, 3, 4)})
def einsum_dense() -> Layers:
    return [
        layers.EinsumDense("abc,cde->abde", [None, 2, 5], bias_axes="de"),
        layers.EinsumDense("abde,de->abd", [None, 2], activation="tanh"),
    ]


def in_half_precision(policy: str) -> Layers:
    """Computes in the policy's type, with variables in float."""
    return [
        layers.Conv2D(3, 3, activation="relu", dtype=policy),
        layers.BatchNormalization(dtype=policy),
        layers.GlobalAveragePooling2D(dtype=policy),
        layers.LayerNormalization(dtype=policy),
        layers.Dense(4, activation="gelu", dtype=policy),
        layers.Dense(3, activation="softmax", dtype="float32"),
    ]


MIXED = normal(2, 6, 6, 2)


@model({"x": MIXED}, types=["float32"], tolerance=8 * 2.0**-8)  # unit roundoffs of bfloat16
def mixed_bfloat16() -> Layers:
    return in_half_precision("mixed_bfloat16")


@model({"x": MIXED}, types=["float32"], tolerance=8 * 2.0**-11)  # unit roundoffs of half
def mixed_float16() -> Layers:
    return in_half_precision("mixed_float16")
