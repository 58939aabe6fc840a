"""Models of the layers and functions of tensorflow_ext."""

from typing import Any

import numpy as np
from keras import layers
from model import Layers, model
from random_values import normal

import tensorflow_ext as tfe
from tensorflow_ext import layers as ours

_WORDS = np.array([[1, 2, 0, 2, 8], [0, 0, 0, 0, 0], [3, 3, 3, 5, 7]], np.int32)
_ROIS = np.array([[0, 1, 2, 9, 8], [1, 3, 0, 11.5, 7], [1, 0, 0, 4, 9]])


@model({"x": normal(2, 4)})
def activations() -> Layers:
    """Functions, called directly and by name."""
    return [
        layers.Dense(5, activation=tfe.gelu),
        layers.Dense(5, activation="tensorflow_ext>mish"),
        layers.Activation(tfe.lisht),
        layers.Lambda(tfe.hardshrink, arguments={"lower": -0.1, "upper": 0.2}),
        layers.Dense(3),
        layers.Rescaling(0.2),  # otherwise only one is above the threshold
        layers.Activation(tfe.sparsemax),
    ]


@model({"x": 2 * normal(2, 3, 4)})
def activation_layers() -> Layers:
    return [
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
    ]


@model({"x": normal(2, 4)})
def gated(x: Any) -> Any:
    y = ours.SwiGLU()([layers.Dense(6)(x), layers.Dense(6)(x)])
    return layers.Dense(2)(y)


@model({"words": _WORDS, "weights": normal(3, 5)})
def bags(words: Any, weights: Any) -> Any:
    """Bags of words, which have no gradient, with weights, which have one."""
    mean = ours.EmbeddingBag(9, 3, combiner="mean", mask_zero=True)(words)
    total = ours.EmbeddingBag(9, 3, combiner="sqrtn")(words, weights)
    sparse = ours.EmbeddingBag(9, 3, sparse_gradients=True)(words)
    return layers.Dense(2)(mean * total + sparse)


@model({"x": normal(2, 3, 6)})
def normalizations() -> Layers:
    return [ours.LayerNormalization(), layers.Dense(5, activation="tanh"), ours.RmsNormalization()]


@model({"data": normal(2, 6, 7, 2), "rois": _ROIS})
def regions(data: Any, rois: Any) -> Any:
    features = layers.Conv2D(3, 3, padding="same")(data)
    mean = ours.RoiAlign(2, 2, 0.5)([features, rois])
    largest = ours.RoiPooling(2, 2, 0.5)([features, rois])
    return layers.Dense(2)(mean + largest)


@model({"a": normal(2, 5, 6, 2), "b": normal(2, 5, 6, 2)})
def flow(a: Any, b: Any) -> Any:
    """Matches the features of two images, and warps one image by the resulting flow."""
    costs = ours.CorrelationCost(1, 2, 1, 1, 2)([a, b])
    moves = layers.Conv2D(2, 3, padding="same", activation="tanh")(costs)
    warped = ours.DenseImageWarp()([b, moves])
    points = layers.Dense(2)(layers.Flatten()(moves)[:, :8])
    points = layers.Reshape([1, 2])(points)
    at_points = ours.Resampler()([warped, points])
    return [warped, at_points]


@model({"x": normal(2, 4)})
def gradients() -> Layers:
    """Layers that change gradients or prune."""
    return [
        layers.Dense(5),
        ours.GradientReversal(0.5),
        ours.MagnitudePruning(threshold=0.1),
        layers.Dense(5),
        ours.MagnitudePruning(sparsity=0.25, gradient="masked"),
        ours.GradientReversal(ours.DomainAdversarialSchedule(10)),
        ours.SignQuantizer(2.0),
        layers.Dense(2),
    ]
