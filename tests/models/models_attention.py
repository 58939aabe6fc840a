# SPDX-License-Identifier: Apache-2.0
"""Models of attention."""

import keras
import numpy as np
from keras import layers
from model import Model
from random_values import normal


def multi_head(dtype: str) -> keras.Model:
    del dtype
    x = keras.Input([4, 6], name="x")
    attention = layers.MultiHeadAttention(2, 3)
    return keras.Model(x, layers.Dense(2)(attention(x, x)))


def grouped_query(dtype: str) -> keras.Model:
    del dtype
    query = keras.Input([3, 4], name="query")
    value = keras.Input([5, 4], name="value")
    attention = layers.GroupQueryAttention(3, num_query_heads=4, num_key_value_heads=2)
    return keras.Model([query, value], attention(query, value))


def with_scores(dtype: str) -> keras.Model:
    """Dot and additive attention with weights of their own, and their scores."""
    del dtype
    query = keras.Input([3, 4], name="query")
    value = keras.Input([5, 4], name="value")
    mask = keras.Input([5], dtype="bool", name="mask")
    dot, scores = layers.Attention(use_scale=True, score_mode="concat")(
        [query, value], mask=[None, mask], return_attention_scores=True
    )
    additive = layers.AdditiveAttention()([dot, value], mask=[None, mask])
    return keras.Model([query, value, mask], {"y": additive, "scores": scores})


def transformer(dtype: str) -> keras.Model:
    """A block of a language model: tokens to the next token's logits."""
    del dtype
    tokens = keras.Input([None], dtype="int32", name="tokens")
    x = layers.Embedding(7, 4)(tokens)
    y = layers.LayerNormalization()(x)
    y = layers.MultiHeadAttention(2, 2)(y, y, use_causal_mask=True)
    x = layers.Add()([x, y])
    y = layers.Dense(6, activation="gelu")(layers.LayerNormalization()(x))
    x = layers.Add()([x, layers.Dense(4)(y)])
    return keras.Model(tokens, layers.Dense(7)(x))


QUERY_AND_VALUE = {"query": normal(2, 3, 4), "value": normal(2, 5, 4)}
MASK = np.array([[True, True, True, False, False], [True, True, True, True, True]])
MODELS = [
    Model("multi_head", multi_head, {"x": normal(2, 4, 6)}),
    Model("grouped_query", grouped_query, QUERY_AND_VALUE),
    Model("with_scores", with_scores, {**QUERY_AND_VALUE, "mask": MASK}),
    Model("transformer", transformer, {"tokens": np.array([[1, 2, 3, 2], [6, 0, 5, 4]], np.int32)}),
]
