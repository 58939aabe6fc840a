"""EmbeddingBag with tables of 16-bit values."""

import embedding_bag
import measure
import tensorflow as tf

SHAPE = embedding_bag.SHAPES[-1]


def run() -> list[measure.Result]:
    return [
        result
        for dtype in (tf.float16, tf.bfloat16)
        for result in embedding_bag.of_shape(*SHAPE, dtype)
    ]
