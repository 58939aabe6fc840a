# SPDX-License-Identifier: Apache-2.0
"""Models of embeddings, preprocessing, merging and reshaping."""

import keras
import numpy as np
from keras import layers
from model import BOTH_TYPES, Model, chain
from random_values import normal


def embedding(dtype: str) -> keras.Model:
    """Words and their places to a class; the words' table is the output's too."""
    del dtype
    words = keras.Input([4], dtype="int32", name="words")
    table = layers.ReversibleEmbedding(6, 3)
    x = layers.Dense(3, activation="tanh")(table(words))
    mean = layers.GlobalAveragePooling1D()(table(x, reverse=True))
    return keras.Model(words, layers.Softmax()(mean))


def numbers(dtype: str) -> keras.Model:
    """Scaled numbers beside the classes that they fall into."""
    x = keras.Input([3], name="x")
    normalized = layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 3.0])
    scaled = normalized(layers.Rescaling(0.5, offset=0.1)(x))
    classes = layers.Discretization([-0.5, 0.5], output_mode="one_hot", dtype=dtype)(x[:, :1])
    y = layers.Concatenate()([scaled, classes])
    return keras.Model(x, layers.Dense(2)(y))


def words(dtype: str) -> keras.Model:
    """Strings and identifiers through tables, and tokens of a text."""
    word = keras.Input([1], dtype="string", name="word")
    number = keras.Input([2], dtype="int64", name="number")
    text = keras.Input([], dtype="string", name="text")
    looked_up = layers.StringLookup(vocabulary=["red", "green", "blue"])(word)
    known = layers.IntegerLookup(vocabulary=[12, 36], output_mode="multi_hot")(number)
    tokens = layers.TextVectorization(vocabulary=["one", "fine", "day"], output_sequence_length=4)(
        text
    )
    hashed = layers.Hashing(3)(word)
    parts = [
        layers.Flatten()(layers.Embedding(4, 2)(looked_up)),
        layers.Dense(2)(keras.ops.cast(known, dtype)),
        layers.GlobalAveragePooling1D()(layers.Embedding(5, 2)(tokens)),
        layers.Flatten()(layers.Embedding(3, 2)(hashed)),
    ]
    y = layers.Dense(2)(layers.Concatenate()(parts))
    return keras.Model([word, number, text], y)


def categories(dtype: str) -> keras.Model:
    kind = keras.Input([2], dtype="int32", name="kind")
    x = keras.Input([2], name="x")
    counts = layers.CategoryEncoding(4, output_mode="count", dtype=dtype)
    crossed = layers.HashedCrossing(5, output_mode="one_hot", dtype=dtype)
    parts = [x, counts(kind), crossed((kind[:, 0], kind[:, 1]))]
    return keras.Model([kind, x], layers.Dense(2)(layers.Concatenate()(parts)))


def merging(dtype: str) -> keras.Model:
    del dtype
    a, b = keras.Input([3, 4], name="a"), keras.Input([3, 4], name="b")
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
    return keras.Model([a, b], layers.Concatenate(axis=-1)(merged))


def reshaping(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [4, 4, 2],
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
    )


def volumes(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [2, 3, 2, 1],
        layers.ZeroPadding3D(1),
        layers.Conv3D(2, 2),
        layers.Cropping3D(((0, 1), (1, 0), (0, 0))),
        layers.UpSampling3D(2),
    )


def spectrograms(dtype: str) -> keras.Model:
    del dtype
    sound = keras.Input([32, 1], name="sound")
    shape = {"frame_length": 8, "frame_step": 4, "fft_length": 8}
    waves = layers.STFTSpectrogram(mode="real", **shape)(sound)
    return keras.Model(sound, layers.Dense(2)(waves))


def mel_spectrogram(dtype: str) -> keras.Model:
    del dtype
    settings = {"sampling_rate": 100, "min_freq": 5, "max_freq": 50}
    return chain([32], layers.MelSpectrogram(8, 4, num_mel_bins=3, **settings), layers.Conv1D(2, 2))


COLOURS = np.array([["red"], ["violet"]], object)
MODELS = [
    Model("embedding", embedding, {"words": np.array([[1, 2, 2, 0], [5, 4, 0, 3]])}),
    # Discretization of Keras 3.12 says another shape than it computes.
    Model("numbers", numbers, {"x": normal(2, 3)}, newer_keras=BOTH_TYPES),
    Model(
        "words",
        words,
        {
            "word": COLOURS,
            "number": np.array([[36, 12], [7, 36]]),
            "text": np.array(["One fine day!", "day one"], object),
        },
    ),
    Model(
        "categories", categories, {"kind": np.array([[1, 3], [2, 2]], np.int32), "x": normal(2, 2)}
    ),
    Model("merging", merging, {"a": normal(2, 3, 4), "b": normal(2, 3, 4, seed=1)}),
    Model("reshaping", reshaping, {"x": normal(2, 4, 4, 2)}),
    Model("volumes", volumes, {"x": normal(2, 2, 3, 2, 1)}),
    Model("spectrograms", spectrograms, {"sound": normal(2, 32, 1)}),
    Model(
        "mel_spectrogram",
        mel_spectrogram,
        {"x": normal(2, 32)},
        types=["float32"],  # Keras mixes types
    ),
]
