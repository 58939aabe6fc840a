# SPDX-License-Identifier: Apache-2.0
"""Recurrent models, with masks and states."""

import keras
import numpy as np
from keras import layers
from model import BOTH_TYPES, Model, chain
from random_values import normal


def stacked_lstm(dtype: str) -> keras.Model:
    del dtype
    return chain([5, 3], layers.LSTM(3, return_sequences=True), layers.LSTM(2), layers.Dense(2))


def bidirectional_gru(dtype: str) -> keras.Model:
    del dtype
    return chain([4, 2], layers.Bidirectional(layers.GRU(3)), layers.Dense(2))


def masked(dtype: str) -> keras.Model:
    del dtype
    return chain([5, 2], layers.Masking(0.0), layers.SimpleRNN(3), layers.Dense(2))


def masked_words(dtype: str) -> keras.Model:
    """Sentences of any length, filled up with zeros."""
    del dtype
    words = keras.Input([None], dtype="int32", name="words")
    x = layers.Embedding(6, 3, mask_zero=True)(words)
    x = layers.Bidirectional(layers.LSTM(2, return_sequences=True))(x)
    return keras.Model(words, layers.GRU(2, reset_after=False)(x))


def with_states(dtype: str) -> keras.Model:
    """States come in and go out, as in a decoder."""
    del dtype
    x = keras.Input([4, 2], name="x")
    hidden = keras.Input([3], name="hidden")
    cell = keras.Input([3], name="cell")
    sequence, *states = layers.LSTM(3, return_sequences=True, return_state=True)(
        x, initial_state=[hidden, cell]
    )
    outputs = {"sequence": sequence, "hidden": states[0], "cell": states[1]}
    return keras.Model([x, hidden, cell], outputs)


def convolutional(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [3, 4, 4, 1],
        layers.ConvLSTM2D(2, 2, return_sequences=True),
        layers.Reshape([3, 9, 2]),
        layers.ConvLSTM1D(1, 3),
    )


def convolutional_in_space(dtype: str) -> keras.Model:
    del dtype
    return chain([2, 2, 3, 2, 1], layers.ConvLSTM3D(1, 2))


def time_distributed(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [3, 5, 2],
        layers.TimeDistributed(layers.Conv1D(2, 3, activation="relu")),
        layers.TimeDistributed(layers.Flatten()),
        layers.SimpleRNN(2, go_backwards=True, return_sequences=True),
        layers.TimeDistributed(layers.Dense(2)),
    )


def stacked_cells(dtype: str) -> keras.Model:
    """Cells in one loop, and the same kind of cells unrolled."""
    del dtype
    cells = [layers.LSTMCell(2), layers.GRUCell(3), layers.SimpleRNNCell(2)]
    return chain(
        [4, 2],
        layers.RNN(layers.StackedRNNCells(cells), return_sequences=True),
        layers.GRU(2, unroll=True),
    )


def dropout_in_loops(dtype: str) -> keras.Model:
    """Nothing is dropped where nothing is trained."""
    del dtype
    return chain(
        [4, 2],
        layers.GRU(2, dropout=0.5, recurrent_dropout=0.5, return_sequences=True),
        layers.LSTM(2, dropout=0.5),
    )


def stateful(dtype: str) -> keras.Model:
    """The next call goes on where this one ends."""
    del dtype
    x = keras.Input(batch_shape=[2, 3, 2], name="x")
    return keras.Model(x, layers.SimpleRNN(2, stateful=True)(x))


def with_zeros() -> np.ndarray:
    """Steps of zeros at the end, which are masked."""
    x = normal(2, 5, 2)
    x[0, 3:] = 0
    return x


MODELS = [
    Model("stacked_lstm", stacked_lstm, {"x": normal(2, 5, 3)}, loops=True),
    Model("bidirectional_gru", bidirectional_gru, {"x": normal(2, 4, 2)}, loops=True),
    Model("masked", masked, {"x": with_zeros()}, loops=True),
    Model(
        "masked_words",
        masked_words,
        {"words": np.array([[1, 2, 3, 0], [5, 4, 0, 0]], np.int32)},
        loops=True,
    ),
    Model(
        "with_states",
        with_states,
        {"x": normal(2, 4, 2), "hidden": normal(2, 3), "cell": normal(2, 3, seed=1)},
        loops=True,
    ),
    Model("convolutional", convolutional, {"x": normal(2, 3, 4, 4, 1)}, loops=True),
    Model(
        "convolutional_in_space",
        convolutional_in_space,
        {"x": normal(2, 2, 2, 3, 2, 1)},
        loops=True,
    ),
    Model("time_distributed", time_distributed, {"x": normal(2, 3, 5, 2)}, loops=True),
    Model("stacked_cells", stacked_cells, {"x": normal(2, 4, 2)}, loops=True),
    Model("dropout_in_loops", dropout_in_loops, {"x": normal(2, 4, 2)}, loops=True),
    Model(
        "stateful",
        stateful,
        {"x": normal(2, 3, 2)},
        error="The gradient runs the function again",
        newer_keras=BOTH_TYPES,  # 3.12 asks for the truth of a symbolic tensor
    ),
]
