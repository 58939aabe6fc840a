"""Models of embeddings, preprocessing, merging and reshaping."""

from typing import Any

import keras
import numpy as np
from keras import layers
from model import BOTH_TYPES, Layers, model
from random_values import normal


@model({"words": np.array([[1, 2, 2, 0], [5, 4, 0, 3]], np.int32)})
def embedding(words: Any) -> Any:
    """Words and their positions to a class; the output shares the embedding table."""
    table = layers.ReversibleEmbedding(6, 3)
    x = layers.Dense(3, activation="tanh")(table(words))
    mean = layers.GlobalAveragePooling1D()(table(x, reverse=True))
    return layers.Softmax()(mean)


# Discretization of Keras 3.12 declares a shape that differs from its output's.
@model({"x": normal(2, 3)}, newer_keras=BOTH_TYPES)
def numbers(x: Any) -> Any:
    """Scaled numbers, and the classes that they fall into."""
    normalized = layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 3.0])
    scaled = normalized(layers.Rescaling(0.5, offset=0.1)(x))
    classes = layers.Discretization([-0.5, 0.5], output_mode="one_hot")(x[:, :1])
    y = layers.Concatenate()([scaled, classes])
    return layers.Dense(2)(y)


@model(
    {
        "word": np.array([["red"], ["violet"]], object),
        "number": np.array([[36, 12], [7, 36]]),
        "text": np.array(["One fine day!", "day one"], object),
    }
)
def words(word: Any, number: Any, text: Any) -> Any:
    """Strings and identifiers through tables, and tokens of a text."""
    looked_up = layers.StringLookup(vocabulary=["red", "green", "blue"])(word)
    known = layers.IntegerLookup(vocabulary=[12, 36], output_mode="multi_hot")(number)
    tokens = layers.TextVectorization(vocabulary=["one", "fine", "day"], output_sequence_length=4)(
        text
    )
    hashed = layers.Hashing(3)(word)
    parts = [
        layers.Flatten()(layers.Embedding(4, 2)(looked_up)),
        layers.Dense(2)(keras.ops.cast(known, keras.config.floatx())),
        layers.GlobalAveragePooling1D()(layers.Embedding(5, 2)(tokens)),
        layers.Flatten()(layers.Embedding(3, 2)(hashed)),
    ]
    y = layers.Dense(2)(layers.Concatenate()(parts))
    return y


@model({"kind": np.array([[1, 3], [2, 2]], np.int32), "x": normal(2, 2)})
def categories(kind: Any, x: Any) -> Any:
    counts = layers.CategoryEncoding(4, output_mode="count")
    crossed = layers.HashedCrossing(5, output_mode="one_hot")
    parts = [x, counts(kind), crossed((kind[:, 0], kind[:, 1]))]
    return layers.Dense(2)(layers.Concatenate()(parts))


@model({"a": normal(2, 3, 4), "b": normal(2, 3, 4, seed=1)})
def merging(a: Any, b: Any) -> Any:
    c = layers.Dense(4)(a)
    merged = [
        layers.Add()([a, b, c]),
        layers.Subtract()([a, b]),
        layers.Multiply()([a, b, c]),
        layers.Average()([a, b]),
        layers.Maximum()([a, b, c]),
        layers.Minimum()([a, c]),
        layers.Dot(axes=2)([a, b]),
        layers.Dot(axes=(2, 2), normalize=True)([b, c]),
    ]
    return layers.Concatenate(axis=-1)(merged)


@model({"x": normal(2, 4, 4, 2)})
def reshaping() -> Layers:
    return [
        layers.ZeroPadding2D(((1, 0), (0, 2))),
        layers.Conv2D(2, 2),
        layers.Cropping2D(((0, 1), (1, 0))),
        layers.UpSampling2D((2, 1)),
        layers.Permute((3, 1, 2)),
        layers.Reshape([-1, 4]),
        layers.ZeroPadding1D(1),
        layers.UpSampling1D(2),
        layers.Cropping1D(3),
        layers.Dense(2),
        layers.Identity(),
        layers.Lambda(lambda x: x * keras.ops.sin(x)),
        layers.Flatten(),
        layers.RepeatVector(2),
    ]


@model({"x": normal(2, 2, 3, 2, 1)})
def volumes() -> Layers:
    return [
        layers.ZeroPadding3D(1),
        layers.Conv3D(2, 2),
        layers.Cropping3D(((0, 1), (1, 0), (0, 0))),
        layers.UpSampling3D(2),
    ]


@model({"sound": normal(2, 32, 1)})
def spectrograms(sound: Any) -> Any:
    shape = {"frame_length": 8, "frame_step": 4, "fft_length": 8}
    waves = layers.STFTSpectrogram(mode="real", **shape)(sound)
    return layers.Dense(2)(waves)


@model({"x": normal(2, 32)}, types=["float32"])  # Keras mixes types
def mel_spectrogram() -> Layers:
    settings = {"sampling_rate": 100, "min_freq": 5, "max_freq": 50}
    return [layers.MelSpectrogram(8, 4, num_mel_bins=3, **settings), layers.Conv1D(2, 2)]
