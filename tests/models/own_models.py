# SPDX-License-Identifier: Apache-2.0
"""Models of the layers and functions of tensorflow_ext."""

import keras
import numpy as np
from keras import layers
from model import Model, chain
from random_values import normal

import tensorflow_ext as tfe
from tensorflow_ext import layers as ours


def activations(dtype: str) -> keras.Model:
    """Functions, by themselves and by their names."""
    del dtype
    return chain(
        [4],
        layers.Dense(5, activation=tfe.gelu),
        layers.Dense(5, activation="tensorflow_ext>mish"),
        layers.Activation(tfe.lisht),
        layers.Lambda(tfe.hardshrink, arguments={"lower": -0.1, "upper": 0.2}),
        layers.Dense(3),
        layers.Rescaling(0.2),  # else one alone is above the threshold
        layers.Activation(tfe.sparsemax),
    )


def activation_layers(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [3, 4],
        ours.GELU(approximate=False),
        ours.LiSHT(),
        ours.Mish(),
        ours.TanhShrink(),
        ours.Snake(),
        layers.Dense(4),
        ours.SoftShrink(-0.01, 0.02),
        ours.HardShrink(-0.01, 0.02),
        ours.RReLU(),
        ours.Sparsemax(axis=1),
    )


def gated(dtype: str) -> keras.Model:
    del dtype
    x = keras.Input([4], name="x")
    y = ours.SwiGLU()([layers.Dense(6)(x), layers.Dense(6)(x)])
    return keras.Model(x, layers.Dense(2)(y))


def bags(dtype: str) -> keras.Model:
    """Of words, which have no gradient, with weights, which have one."""
    words = keras.Input([5], name="words", dtype="int32")
    weights = keras.Input([5], name="weights", dtype=dtype)
    mean = ours.EmbeddingBag(9, 3, combiner="mean", mask_zero=True)(words)
    total = ours.EmbeddingBag(9, 3, combiner="sqrtn")(words, weights)
    sparse = ours.EmbeddingBag(9, 3, sparse_gradients=True)(words)
    return keras.Model([words, weights], layers.Dense(2)(mean * total + sparse))


def normalizations(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [3, 6],
        ours.LayerNormalization(),
        layers.Dense(5, activation="tanh"),
        ours.RmsNormalization(),
    )


def regions(dtype: str) -> keras.Model:
    data = keras.Input([6, 7, 2], name="data", dtype=dtype)
    rois = keras.Input([5], name="rois", dtype=dtype)
    features = layers.Conv2D(3, 3, padding="same")(data)
    mean = ours.RoiAlign(2, 2, 0.5)([features, rois])
    largest = ours.RoiPooling(2, 2, 0.5)([features, rois])
    return keras.Model([data, rois], layers.Dense(2)(mean + largest))


def flow(dtype: str) -> keras.Model:
    """Features of two images are matched, and one of them is warped by what follows."""
    a = keras.Input([5, 6, 2], name="a", dtype=dtype)
    b = keras.Input([5, 6, 2], name="b", dtype=dtype)
    costs = ours.CorrelationCost(1, 2, 1, 1, 2)([a, b])
    moves = layers.Conv2D(2, 3, padding="same", activation="tanh")(costs)
    warped = ours.DenseImageWarp()([b, moves])
    points = layers.Dense(2)(layers.Flatten()(moves)[:, :8])
    points = layers.Reshape([1, 2])(points)
    at_points = ours.Resampler()([warped, points])
    return keras.Model([a, b], [warped, at_points])


def gradients(dtype: str) -> keras.Model:
    """Layers that are there for their gradient, or that prune."""
    del dtype
    return chain(
        [4],
        layers.Dense(5),
        ours.GradientReversal(0.5),
        ours.MagnitudePruning(threshold=0.1),
        layers.Dense(5),
        ours.MagnitudePruning(sparsity=0.25, gradient="masked"),
        ours.GradientReversal(ours.DomainAdversarialSchedule(10)),
        ours.SignQuantizer(2.0),
        layers.Dense(2),
    )


_WORDS = np.array([[1, 2, 0, 2, 8], [0, 0, 0, 0, 0], [3, 3, 3, 5, 7]], np.int32)
_ROIS = np.array([[0, 1, 2, 9, 8], [1, 3, 0, 11.5, 7], [1, 0, 0, 4, 9]])

MODELS = [
    Model("activations", activations, {"x": normal(2, 4)}),
    Model("activation_layers", activation_layers, {"x": 2 * normal(2, 3, 4)}),
    Model("gated", gated, {"x": normal(2, 4)}),
    Model("bags", bags, {"words": _WORDS, "weights": normal(3, 5)}),
    Model("normalizations", normalizations, {"x": normal(2, 3, 6)}),
    Model("regions", regions, {"data": normal(2, 6, 7, 2), "rois": _ROIS}),
    Model("flow", flow, {"a": normal(2, 5, 6, 2), "b": normal(2, 5, 6, 2)}),
    Model("gradients", gradients, {"x": normal(2, 4)}),
]
