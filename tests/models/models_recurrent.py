"""Recurrent models, with masks and states."""

from typing import Any

import keras
import numpy as np
from keras import layers
from model import BOTH_TYPES, RUNS_AGAIN, Layers, model
from random_values import normal


def with_zeros() -> np.ndarray:
    """Masked steps of zeros at the end."""
    x = normal(2, 5, 2)
    x[0, 3:] = 0
    return x


@model({"x": normal(2, 5, 3)}, loaded=1)
def stacked_lstm() -> Layers:
    return [layers.LSTM(3, return_sequences=True), layers.LSTM(2), layers.Dense(2)]


@model({"x": normal(2, 4, 2)}, loaded=1)
def bidirectional_gru() -> Layers:
    return [layers.Bidirectional(layers.GRU(3)), layers.Dense(2)]


@model({"x": with_zeros()}, loaded=1)
def masked() -> Layers:
    return [layers.Masking(0.0), layers.SimpleRNN(3), layers.Dense(2)]


@model({"words": np.array([[1, 2, 3, 0], [5, 4, 0, 0]], np.int32)}, loaded=1)
def masked_words() -> keras.Model:
    """Sentences of any length, padded with zeros."""
    words = keras.Input([None], dtype="int32", name="words")
    x = layers.Embedding(6, 3, mask_zero=True)(words)
    x = layers.Bidirectional(layers.LSTM(2, return_sequences=True))(x)
    return keras.Model(words, layers.GRU(2, reset_after=False)(x))


@model({"x": normal(2, 4, 2), "hidden": normal(2, 3), "cell": normal(2, 3, seed=1)}, loaded=1)
def with_states(x: Any, hidden: Any, cell: Any) -> Any:
    """States are inputs and outputs, as in a decoder."""
    sequence, *states = layers.LSTM(3, return_sequences=True, return_state=True)(
        x, initial_state=[hidden, cell]
    )
    outputs = {"sequence": sequence, "hidden": states[0], "cell": states[1]}
    return outputs


@model({"x": normal(2, 3, 4, 4, 1)}, loaded=1)
def convolutional() -> Layers:
    return [
        layers.ConvLSTM2D(2, 2, return_sequences=True),
        layers.Reshape([3, 9, 2]),
        layers.ConvLSTM1D(1, 3),
    ]


@model({"x": normal(2, 2, 2, 3, 2, 1)}, loaded=1)
def convolutional_in_space() -> Layers:
    return [layers.ConvLSTM3D(1, 2)]


@model({"x": normal(2, 3, 5, 2)}, loaded=1)
def time_distributed() -> Layers:
    return [
        layers.TimeDistributed(layers.Conv1D(2, 3, activation="relu")),
        layers.TimeDistributed(layers.Flatten()),
        layers.SimpleRNN(2, go_backwards=True, return_sequences=True),
        layers.TimeDistributed(layers.Dense(2)),
    ]


@model({"x": normal(2, 4, 2)}, loaded=1)
def stacked_cells() -> Layers:
    """Cells in one loop, and cells of the same kind unrolled."""
    cells = [layers.LSTMCell(2), layers.GRUCell(3), layers.SimpleRNNCell(2)]
    return [
        layers.RNN(layers.StackedRNNCells(cells), return_sequences=True),
        layers.GRU(2, unroll=True),
    ]


@model({"x": normal(2, 4, 2)}, loaded=1)
def dropout_in_loops() -> Layers:
    """Nothing is dropped outside training."""
    return [
        layers.GRU(2, dropout=0.5, recurrent_dropout=0.5, return_sequences=True),
        layers.LSTM(2, dropout=0.5),
    ]


# Keras 3.12 takes the truth value of a symbolic tensor.
@model({"x": normal(2, 3, 2)}, error=RUNS_AGAIN, newer_keras=BOTH_TYPES)
def stateful() -> keras.Model:
    """Each call continues where the last one ended."""
    x = keras.Input(batch_shape=[2, 3, 2], name="x")
    return keras.Model(x, layers.SimpleRNN(2, stateful=True)(x))
