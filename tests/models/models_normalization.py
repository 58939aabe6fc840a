# SPDX-License-Identifier: Apache-2.0
"""Models of dense layers, normalization, activations and regularization."""

import keras
from keras import layers
from model import Model, chain
from random_values import normal


def dense(dtype: str) -> keras.Model:
    del dtype
    return chain([4], layers.Dense(5, activation="tanh"), layers.Dense(3))


def classifier(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [4],
        layers.Dense(6, activation="gelu"),
        layers.LayerNormalization(),
        layers.Dropout(0.5),
        layers.Dense(3, activation="softmax"),
    )


def normalizations(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [3, 4, 4],
        layers.GroupNormalization(2),
        layers.Conv2D(4, 2),
        layers.BatchNormalization(axis=1, scale=False),
        layers.LayerNormalization(axis=[1, 2], center=False),
        layers.RMSNormalization(),
        layers.UnitNormalization(),
    )


def spectral(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [4, 3],
        layers.SpectralNormalization(layers.Conv1D(2, 2)),
        layers.Flatten(),
        layers.SpectralNormalization(layers.Dense(2), power_iterations=2),
    )


def frozen(dtype: str) -> keras.Model:
    """A layer that is not to be trained in front of one that is."""
    del dtype
    base = layers.Dense(4, activation="relu")
    base.trainable = False
    return chain([3], base, layers.Dense(2), layers.BatchNormalization())


def activation_layers(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [3, 4],
        layers.PReLU(shared_axes=[1]),
        layers.Dense(4),
        layers.ELU(0.7),
        layers.Dense(4),
        layers.LeakyReLU(),
        layers.Dense(4),
        layers.ReLU(max_value=1.5, negative_slope=0.1, threshold=0.2),
        layers.Dense(4),
        layers.Softmax(axis=1),
    )


ACTIVATIONS = [
    "celu exponential glu gelu hard_shrink hard_sigmoid hard_silu hard_tanh",
    "leaky_relu linear log_sigmoid log_softmax mish relu relu6 selu sigmoid silu",
    "soft_shrink softmax softplus softsign sparse_plus sparsemax sparse_sigmoid",
    "squareplus tanh tanh_shrink threshold",
]


def activations(dtype: str) -> keras.Model:
    """Every activation of Keras, of the same 4 numbers times others."""
    del dtype
    x = keras.Input([4], name="x")
    outputs = [
        layers.Activation(
            (lambda y: keras.activations.threshold(y, 0.1, 0.0)) if name == "threshold" else name
        )(layers.Dense(4, name=name)(x))
        for name in " ".join(ACTIVATIONS).split()
    ]
    return keras.Model(x, layers.Concatenate()(outputs))


def regularized(dtype: str) -> keras.Model:
    """What only does something in training."""
    del dtype
    return chain(
        [3, 4, 2],
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
    )


def einsum_dense(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [3, 4],
        layers.EinsumDense("abc,cde->abde", [None, 2, 5], bias_axes="de"),
        layers.EinsumDense("abde,de->abd", [None, 2], activation="tanh"),
    )


def in_half_precision(policy: str) -> keras.Model:
    """A policy that computes in `policy`'s type, with variables in float."""
    return chain(
        [6, 6, 2],
        layers.Conv2D(3, 3, activation="relu", dtype=policy),
        layers.BatchNormalization(dtype=policy),
        layers.GlobalAveragePooling2D(dtype=policy),
        layers.LayerNormalization(dtype=policy),
        layers.Dense(4, activation="gelu", dtype=policy),
        layers.Dense(3, activation="softmax", dtype="float32"),
    )


MIXED_INPUTS = {"x": normal(2, 6, 6, 2)}
MODELS = [
    Model("dense", dense, {"x": normal(2, 4)}),
    Model("classifier", classifier, {"x": normal(2, 4)}),
    Model("normalizations", normalizations, {"x": normal(2, 3, 4, 4)}),
    Model("spectral", spectral, {"x": normal(2, 4, 3)}),
    Model("frozen", frozen, {"x": normal(2, 3)}),
    Model("activation_layers", activation_layers, {"x": normal(2, 3, 4)}),
    Model("activations", activations, {"x": 2 * normal(2, 4)}),
    Model(
        "regularized",
        regularized,
        {"x": normal(2, 3, 4, 2)},
        newer_keras=["float64"],  # 3.12 multiplies float by double
    ),
    Model("einsum_dense", einsum_dense, {"x": normal(2, 3, 4)}),
    Model(
        "mixed_bfloat16",
        lambda _: in_half_precision("mixed_bfloat16"),
        MIXED_INPUTS,
        types=["float32"],
        tolerance=8 * 2.0**-8,  # unit roundoffs of bfloat16
    ),
    Model(
        "mixed_float16",
        lambda _: in_half_precision("mixed_float16"),
        MIXED_INPUTS,
        types=["float32"],
        tolerance=8 * 2.0**-11,  # unit roundoffs of half
    ),
]
