"""Layers over a table of vectors."""

from typing import Any

import keras
import tensorflow as tf

from tensorflow_ext import ops
from tensorflow_ext.layers._common import (
    Configured,
    Shape,
    boolean,
    check,
    check_shape,
    integer,
    same,
    same_shape,
)

_COMBINERS = ("sum", "mean", "sqrtn")


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class EmbeddingBag(Configured):
    """The sum or mean of the vectors that each bag of indices names, by `embedding_bag`.

    It computes the same as `keras.layers.Embedding` and a sum over the bag, but never
    holds the vectors of the bag in memory.

    Call it with indices [..., L], and optionally weights of the same shape. Returns
    [..., output_dim]. For a bag of n counted indices i with weights w, the result is the
    sum of w_i * embeddings[i], divided by

    - 1 for combiner 'sum',
    - the sum of w_i (n without weights) for 'mean',
    - the square root of the sum of w_i^2 (of n without weights) for 'sqrtn',

    as in tf.nn.embedding_lookup_sparse. A bag without counted indices, or with a divisor
    of 0, gives 0. In mixed precision the table and the sums keep float32.

    An index does not count where the Keras mask of `indices`, or the argument `mask`,
    is False. The mask has the shape of `indices`, or its first dimensions to mask whole
    bags. A masked index need not name a vector. The result has no mask.

    Args:
      input_dim: Number of vectors in the table; indices are below it.
      output_dim: Size of each vector.
      embeddings_initializer: Initializer of the table, `embeddings`.
      embeddings_regularizer: Regularizer of the table.
      embeddings_constraint: Constraint of the table.
      mask_zero: Whether to ignore index 0.
      combiner: 'sum', 'mean' or 'sqrtn'; also in upper case, as in TF Addons.
      sparse_gradients: Whether the gradient of the table is a tf.IndexedSlices that
        has each vector of the batch once, instead of a tensor of the table's shape.
        keras.optimizers.SGD without momentum then writes only these vectors. Adam and
        most other Keras optimizers still write the whole table, for their averages. XLA
        does not support such gradients, so a model with this layer is not compiled.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        combiner: str = "sum",
        sparse_gradients: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.input_dim = integer(self, "input_dim", input_dim, 1)
        self.output_dim = integer(self, "output_dim", output_dim, 1)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.embeddings_regularizer = keras.regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = keras.constraints.get(embeddings_constraint)
        self.mask_zero = boolean(self, "mask_zero", mask_zero)
        lower = combiner.lower() if isinstance(combiner, str) else combiner
        expected = f"one of {', '.join(map(repr, _COMBINERS))}"
        check(self, "combiner", combiner, lower in _COMBINERS, expected)
        self.combiner = lower
        self.sparse_gradients = boolean(self, "sparse_gradients", sparse_gradients)
        self.supports_masking = True
        self.supports_jit = not self.sparse_gradients
        self.autocast = False

    def build(self, input_shape: Shape) -> None:
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.input_dim, self.output_dim),
            initializer=self.embeddings_initializer,
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
            autocast=False,
        )

    # Keras passes the mask of the indices as `mask` if there are no weights, else as
    # `indices_mask`.
    def call(
        self,
        indices: tf.Tensor,
        weights: tf.Tensor | None = None,
        mask: tf.Tensor | None = None,
        indices_mask: tf.Tensor | None = None,
    ) -> tf.Tensor:
        self.compute_output_shape(indices.shape, None if weights is None else weights.shape)
        if indices.dtype not in (tf.int32, tf.int64):
            indices = tf.cast(indices, tf.int32)
        counted = self._counted(indices, indices_mask if mask is None else mask)
        combiner = self.combiner
        if weights is not None or counted is not None or combiner == "sqrtn":
            weights = self._factors(indices, weights, counted)
            combiner = "sum"
        if counted is not None:
            indices = tf.where(counted, indices, 0)
        outputs = self._bags(indices, weights, combiner)
        return tf.cast(outputs, self.compute_dtype)

    def compute_mask(self, inputs: Any, previous_mask: Any) -> None:
        return None

    def compute_output_shape(
        self, indices_shape: Shape, weights_shape: Shape | None = None
    ) -> Shape:
        valid = len(indices_shape) >= 2
        expected = "[..., L], of rank 2 or more"
        check_shape(self, "indices", indices_shape, valid, expected)
        if weights_shape is not None:
            valid = same_shape(weights_shape, indices_shape)
            expected = f"that of 'indices', {tuple(indices_shape)}"
            check_shape(self, "weights", weights_shape, valid, expected)
        return (*indices_shape[:-1], self.output_dim)

    def _counted(self, indices: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor | None:
        """A mask of the indices that count, in their shape; None if all do."""
        counted = tf.not_equal(indices, 0) if self.mask_zero else None
        if mask is None:
            return counted
        mask = tf.cast(mask, tf.bool)
        rank = indices.shape.rank
        valid = mask.shape.rank <= rank and all(map(same, mask.shape, indices.shape))
        expected = f"the first dimensions of 'indices', {tuple(indices.shape)}"
        check_shape(self, "mask", mask.shape, valid, expected)
        shape = tf.concat([tf.shape(mask), [1] * (rank - mask.shape.rank)], axis=0)
        mask = tf.broadcast_to(tf.reshape(mask, shape), tf.shape(indices))
        return mask if counted is None else counted & mask

    def _factors(
        self, indices: tf.Tensor, weights: tf.Tensor | None, counted: tf.Tensor | None
    ) -> tf.Tensor:
        """The factor of each vector, according to the combiner."""
        # A float16 can count only to 2048.
        dtype = tf.as_dtype(self.variable_dtype)
        wide = tf.float32 if dtype.size < tf.float32.size else dtype
        ones = weights is None
        factors = tf.ones(tf.shape(indices), wide) if ones else tf.cast(weights, wide)
        if counted is not None:
            factors = tf.where(counted, factors, 0)
        if self.combiner == "mean":
            total = tf.reduce_sum(factors, axis=-1, keepdims=True)
            factors = tf.math.divide_no_nan(factors, total)
        elif self.combiner == "sqrtn":
            squares = tf.reduce_sum(tf.square(factors), axis=-1, keepdims=True)
            # The root has no derivative at 0.
            factors *= tf.math.rsqrt(tf.where(squares > 0, squares, 1))
        return tf.cast(factors, dtype)

    def _bags(self, indices: tf.Tensor, weights: tf.Tensor | None, combiner: str) -> tf.Tensor:
        """`embedding_bag` for indices of any rank."""
        shape = tf.shape(indices)
        rows = tf.stack([tf.reduce_prod(shape[:-1]), shape[-1]])
        table = self.embeddings.value
        if self.sparse_gradients:
            # The gradient of tf.gather then has each gathered vector once.
            unique, indices = tf.unique(tf.reshape(indices, [-1]), indices.dtype)
            table = tf.gather(table, unique)
        indices = tf.reshape(indices, rows)
        if weights is not None:
            weights = tf.reshape(weights, rows)
        bags = ops.embedding_bag(indices, table, weights, combiner)
        return tf.reshape(bags, tf.concat([shape[:-1], [self.output_dim]], axis=0))
