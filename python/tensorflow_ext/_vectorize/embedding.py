# SPDX-License-Identifier: Apache-2.0
"""EmbeddingBag and its gradients: the bags of all iterations are one batch. Where
each iteration has a table, the tables are one, one after the other."""

import tensorflow as tf

from tensorflow_ext._vectorize._common import (
    Converter,
    Input,
    Output,
    call,
    fold,
    tensors,
    unfold,
)


def _fold_indices(indices: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Stacked indices as those of one table: iteration b counts its rows from
    b * `rows`. An index that named no row names none afterwards."""
    indices = tf.cast(indices, tf.int64)
    rows = tf.cast(rows, tf.int64)
    offset = tf.range(tf.shape(indices, tf.int64)[0])[:, tf.newaxis, tf.newaxis] * rows
    valid = (indices >= 0) & (indices < rows)
    return fold(tf.where(valid, indices + offset, -tf.ones_like(indices)))


def _over_bags(vectorized: Input, indices: int, params: int) -> Output:
    """For an op whose output has a row for each bag, given the places of two of its
    arguments."""
    has_tables = vectorized.input(params).is_stacked
    others = [i for i in range(vectorized.num_inputs) if i != params]
    vectorized.stack_inputs(others)
    folded = tensors(vectorized)
    if has_tables:
        rows = tf.shape(folded[params])[1]
        folded[indices] = _fold_indices(folded[indices], rows)
        folded[params] = fold(folded[params])
        others.remove(indices)
    for i in others:
        folded[i] = fold(folded[i])
    return unfold(vectorized, call(vectorized, *folded))


def _embedding_bag(vectorized: Input) -> Output:
    return _over_bags(vectorized, indices=0, params=1)


def _embedding_bag_weights_grad(vectorized: Input) -> Output:
    return _over_bags(vectorized, indices=1, params=2)


def _embedding_bag_params_grad(vectorized: Input) -> Output:
    vectorized.stack_inputs()
    gradients, indices, params, weights = tensors(vectorized)
    folded = _fold_indices(indices, tf.shape(params)[1])
    return unfold(
        vectorized,
        call(vectorized, fold(gradients), folded, fold(params), fold(weights)),
    )


CONVERTERS: dict[str, Converter] = {
    "embedding_bag": _embedding_bag,
    "embedding_bag_params_grad": _embedding_bag_params_grad,
    "embedding_bag_weights_grad": _embedding_bag_weights_grad,
}
