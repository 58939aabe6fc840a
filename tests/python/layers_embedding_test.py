"""EmbeddingBag: combiners, masks, and gradients that name vectors."""

import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tensorflow_ext.layers import EmbeddingBag

_RNG = np.random.default_rng(0)
_SIZE, _WIDTH = 9, 5
_INDICES = np.array([[1, 2, 0, 8], [0, 0, 0, 0], [4, 4, 3, 4], [0, 5, 0, 6]])
_WEIGHTS = _RNG.uniform(0.5, 2, size=_INDICES.shape).astype(np.float32)
_MASKS = {
    "all": np.ones_like(_INDICES, bool),
    "not 0": _INDICES != 0,
    "some": np.array([[1, 0, 1, 1], [0] * 4, [1] * 4, [0, 0, 0, 1]], bool),
}

every_combiner = pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
dense_and_sparse = pytest.mark.parametrize("sparse_gradients", [False, True])


def _layer(**arguments: Any) -> EmbeddingBag:
    initializer = keras.initializers.RandomUniform(-1, 1, seed=1)
    layer = EmbeddingBag(_SIZE, _WIDTH, embeddings_initializer=initializer, **arguments)
    layer.build((None, None))
    return layer


def _sparse(values: np.ndarray | tf.Tensor, counted: np.ndarray) -> tf.SparseTensor:
    where = np.argwhere(counted)
    return tf.SparseTensor(where, tf.gather_nd(values, where), counted.shape)


@pytest.mark.parametrize("mask", _MASKS)
@pytest.mark.parametrize("weighted", [False, True])
@every_combiner
@dense_and_sparse
def test_bags_match_tensorflow(
    combiner: str, weighted: bool, mask: str, sparse_gradients: bool
) -> None:
    """tf.nn.embedding_lookup_sparse of the indices that count, and its gradients."""
    layer = _layer(combiner=combiner, mask_zero=mask == "not 0", sparse_gradients=sparse_gradients)
    weights = tf.constant(_WEIGHTS)
    table = layer.embeddings.value
    upstream = tf.constant(_RNG.normal(size=(4, _WIDTH)), tf.float32)
    counted = _MASKS[mask]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(weights)
        y = layer(
            tf.constant(_INDICES),
            weights=weights if weighted else None,
            mask=tf.constant(counted) if mask == "some" else None,
        )
        expected = tf.nn.embedding_lookup_sparse(
            table,
            _sparse(_INDICES, counted),
            _sparse(weights, counted) if weighted else None,
            combiner=combiner,
        )
        # It omits empty bags at the end.
        rows = expected.shape[0]
        loss = tf.reduce_sum(upstream * y)
        expected_loss = tf.reduce_sum(upstream[:rows] * expected)
    np.testing.assert_allclose(y[:rows], expected, rtol=1e-5, atol=1e-6)
    assert np.all((y[1] == 0) != counted[1].any())
    sources = [table, weights] if weighted else [table]
    for actual, reference in zip(
        tape.gradient(loss, sources), tape.gradient(expected_loss, sources), strict=True
    ):
        np.testing.assert_allclose(
            tf.convert_to_tensor(actual), tf.convert_to_tensor(reference), rtol=1e-4, atol=1e-6
        )


def test_gradient_as_indexed_slices() -> None:
    layer = _layer(sparse_gradients=True)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(layer(tf.constant([[5, 2, 5], [2, 7, 5]])))
    gradient = tape.gradient(y, layer.embeddings.value)
    assert isinstance(gradient, tf.IndexedSlices)
    np.testing.assert_array_equal(gradient.indices, [5, 2, 7])
    counts = np.array([[3], [2], [1]], np.float32)
    np.testing.assert_array_equal(gradient.values, counts * np.ones((1, _WIDTH)))


@dense_and_sparse
def test_nothing_is_gathered_for_each_index(sparse_gradients: bool) -> None:
    """No tensor in training has a vector for each index of the batch."""
    layer = _layer(sparse_gradients=sparse_gradients, combiner="mean", mask_zero=True)

    @tf.function(input_signature=[tf.TensorSpec([61, 53], tf.int32)])
    def train(indices: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.square(layer(indices)))
        return tape.gradient(y, [layer.embeddings.value])

    graph = train.get_concrete_function().graph
    shapes = [x.shape for op in graph.get_operations() for x in op.outputs]
    assert tf.TensorShape([61, 53]) in shapes
    wide = [x for x in shapes if x.rank and x.num_elements() == 61 * 53 * _WIDTH]
    assert not wide
    if not sparse_gradients:
        assert not [x for x in graph.get_operations() if "Gather" in x.type]


@every_combiner
@dense_and_sparse
@pytest.mark.parametrize("shape", [(3, 0), (0, 4), (2, 3, 0), (0, 0)])
def test_empty(combiner: str, shape: tuple[int, ...], sparse_gradients: bool) -> None:
    layer = _layer(combiner=combiner, sparse_gradients=sparse_gradients)
    y = layer(np.zeros(shape, np.int32))
    np.testing.assert_array_equal(y, np.zeros((*shape[:-1], _WIDTH)))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32"])
def test_indices_of_other_types(dtype: str) -> None:
    """Takes the indices that keras.layers.Embedding takes; mixed precision rounds none of them."""
    layer = EmbeddingBag(4000, 2, dtype="mixed_float16")
    indices = np.array([[1, 100], [7, 3]]) if dtype == "int8" else [[3001, 3999]]
    np.testing.assert_array_equal(
        layer(np.asarray(indices, dtype)), layer(np.asarray(indices, np.int32))
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_mask_of_keras(weighted: bool) -> None:
    """The mask that a previous layer gives to the indices."""

    class Masked(keras.layers.Layer):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            return x

        def compute_mask(self, inputs: tf.Tensor, previous_mask: None) -> tf.Tensor:
            return keras.ops.greater_equal(inputs, 0)

    masked = Masked()
    masked.supports_masking = True
    layer = _layer(combiner="mean")
    indices = keras.Input((3,), dtype="int32")
    weights = keras.Input((3,))
    bags = layer(masked(indices), weights=weights if weighted else None)
    # Older versions of Keras refuse an input that nothing reads.
    model = keras.Model([indices, weights] if weighted else [indices], bags)
    ones = np.ones((2, 3), np.float32)
    # Indices that do not count need not name a vector.
    values = [np.array([[1, -1, 3], [-1, -1, -7]]), ones]
    y = model(values[: len(model.inputs)])
    table = layer.embeddings.numpy()
    np.testing.assert_allclose(y, [(table[1] + table[3]) / 2, [0] * _WIDTH], rtol=1e-6)


def test_mask_of_whole_bags() -> None:
    layer = _layer(combiner="mean", mask_zero=True)
    indices = tf.constant([[[1, 2], [3, 0]], [[4, 5], [0, 6]]])
    y = layer(indices, mask=tf.constant([[True, False], [False, True]]))
    table = layer.embeddings.numpy()
    zeros = np.zeros(_WIDTH)
    expected = [[(table[1] + table[2]) / 2, zeros], [zeros, table[6]]]
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_wrong_mask() -> None:
    with pytest.raises(ValueError, match="'mask' has shape \\(2, 2\\), expected the"):
        _layer()(tf.zeros([2, 3], tf.int32), mask=tf.ones([2, 2], tf.bool))


@dense_and_sparse
def test_index_out_of_range(sparse_gradients: bool) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        _layer(sparse_gradients=sparse_gradients)(tf.constant([[0, _SIZE]]))


_OPTIMIZERS: dict[str, Callable[[], keras.optimizers.Optimizer]] = {
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "AdamW": lambda: keras.optimizers.AdamW(0.1, weight_decay=0.1),
    "amsgrad": lambda: keras.optimizers.Adam(0.1, amsgrad=True, clipnorm=0.1),
    "Adadelta": lambda: keras.optimizers.Adadelta(1.0),
    "RMSprop": lambda: keras.optimizers.RMSprop(0.1, momentum=0.5, centered=True),
    "average": lambda: keras.optimizers.SGD(0.1, use_ema=True, global_clipnorm=0.1),
} | {
    name: functools.partial(getattr(keras.optimizers, name), 0.1)
    for name in ("SGD", "Adam", "Adagrad", "Adamax", "Adafactor", "Ftrl", "Lion", "Nadam")
}


@pytest.mark.parametrize("make", _OPTIMIZERS.values(), ids=_OPTIMIZERS)
def test_optimizers_take_both_gradients(make: Callable[[], keras.optimizers.Optimizer]) -> None:
    """Both train the same, including vectors that a batch does not use."""
    bags = _RNG.integers(0, _SIZE, size=(3, 6, 4))
    bags = np.where(bags == 7, 0, bags)
    tables = []
    for sparse_gradients in (False, True):
        layer = _layer(sparse_gradients=sparse_gradients)
        optimizer = make()

        @tf.function
        def train(
            indices: tf.Tensor,
            layer: EmbeddingBag = layer,
            optimizer: keras.optimizers.Optimizer = optimizer,
        ) -> None:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(layer(indices) - 1))
            variables = layer.trainable_variables
            optimizer.apply(tape.gradient(loss, variables), variables)

        optimizer.build(layer.trainable_variables)
        for indices in bags:
            train(tf.constant(indices))
        tables.append(layer.embeddings.numpy())
    assert np.any(tables[0] != _layer().embeddings.numpy())
    np.testing.assert_allclose(tables[1], tables[0], rtol=1e-4, atol=1e-5)
