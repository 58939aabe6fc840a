"""Models of attention."""

from typing import Any

import keras
import numpy as np
from keras import layers
from model import model
from random_values import normal

QUERY_AND_VALUE = {"query": normal(2, 3, 4), "value": normal(2, 5, 4)}
MASK = np.array([[True, True, True, False, False], [True, True, True, True, True]])


@model({"x": normal(2, 4, 6)})
def multi_head(x: Any) -> Any:
    attention = layers.MultiHeadAttention(2, 3)
    return layers.Dense(2)(attention(x, x))


@model(QUERY_AND_VALUE)
def grouped_query(query: Any, value: Any) -> Any:
    attention = layers.GroupQueryAttention(3, num_query_heads=4, num_key_value_heads=2)
    return attention(query, value)


@model({**QUERY_AND_VALUE, "mask": MASK})
def with_scores(query: Any, value: Any, mask: Any) -> Any:
    """Dot and additive attention with weights of their own, and their scores."""
    dot, scores = layers.Attention(use_scale=True, score_mode="concat")(
        [query, value], mask=[None, mask], return_attention_scores=True
    )
    additive = layers.AdditiveAttention()([dot, value], mask=[None, mask])
    return {"y": additive, "scores": scores}


@model({"tokens": np.array([[1, 2, 3, 2], [6, 0, 5, 4]], np.int32)})
def transformer() -> keras.Model:
    """A block of a language model, from tokens to the next token's logits."""
    tokens = keras.Input([None], dtype="int32", name="tokens")
    x = layers.Embedding(7, 4)(tokens)
    y = layers.LayerNormalization()(x)
    y = layers.MultiHeadAttention(2, 2)(y, y, use_causal_mask=True)
    x = layers.Add()([x, y])
    y = layers.Dense(6, activation="gelu")(layers.LayerNormalization()(x))
    x = layers.Add()([x, layers.Dense(4)(y)])
    return keras.Model(tokens, layers.Dense(7)(x))
