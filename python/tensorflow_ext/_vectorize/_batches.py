"""The rule for ops over a batch: iterations extend the batch with more images, regions,
points or bags."""

import enum

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._rules import (
    Output,
    Rule,
    Vectorized,
    align,
    as_list,
    call,
    tensors,
    widen,
)


class Role(enum.Enum):
    """The role of an input in its op."""

    ROWS = enum.auto()  # [n, ...]: images, regions, points or bags
    TABLE = enum.auto()  # [n, ...]: images or rows that an index names
    TABLES = enum.auto()  # like TABLE, and the output has that shape too
    INDICES = enum.auto()  # [n, ...]: each names a row of the table
    REGIONS = enum.auto()  # [n, 5]: the first column names an image of the table
    SHAPE = enum.auto()  # the shape of the output, which is a table


_EACH_A_ROW = (Role.ROWS, Role.INDICES, Role.REGIONS)


def batched(*roles: Role) -> Rule:
    """The rule for an op whose inputs have these roles: B iterations of n rows are
    one batch of B * n rows.

    A TABLE that all iterations share is unchanged. If each has its own, the tables are
    concatenated, and the indices of an iteration count from the start of its table.
    """
    of_tables = Role.SHAPE in roles or Role.TABLES in roles  # The output has their shape.
    rows = next(i for i, role in enumerate(roles) if role in _EACH_A_ROW)

    def rule(vectorized: Vectorized) -> list[Output]:
        folded = [
            index
            for index, role in enumerate(roles)
            if role is not Role.SHAPE
            and (role is not Role.TABLE or vectorized.input(index).is_stacked)
        ]
        vectorized.stack_inputs(folded)
        inputs = tensors(vectorized)
        if Role.REGIONS in roles:  # Half types hold only small indices exactly.
            inputs = [widen(tensor) for tensor in inputs]
        size = None  # size of the table of one iteration
        for index, role in enumerate(roles):
            if role is Role.SHAPE:
                shape = _of_one_iteration(vectorized.input(index))
                size = shape[0]
                length = vectorized.pfor.loop_len_vector[0]
                inputs[index] = tf.concat([[length * size], shape[1:]], axis=0)
            elif role in (Role.TABLE, Role.TABLES) and index in folded:
                size = tf.shape(inputs[index])[1]
        count = size if of_tables else tf.shape(inputs[rows])[1]
        for index in folded:
            if size is not None:
                inputs[index] = _renumber(inputs[index], roles[index], size)
            inputs[index] = _fold(inputs[index])
        outputs = as_list(call(vectorized, *inputs))
        return [
            _unfold(vectorized, tf.cast(output, declared.dtype), count)
            for output, declared in zip(outputs, vectorized.op.outputs, strict=True)
        ]

    return rule


def _fold(tensor: tf.Tensor) -> tf.Tensor:
    """[B, n, ...] as [B * n, ...]."""
    shape = tf.shape(tensor)
    folded = tf.concat([[shape[0] * shape[1]], shape[2:]], axis=0)
    result = tf.reshape(tensor, folded)
    result.set_shape(tf.TensorShape([None]).concatenate(tensor.shape[2:]))
    return result


def _unfold(vectorized: Vectorized, tensor: tf.Tensor, count: tf.Tensor) -> Output:
    """[B * n, ...] as the stacked output [B, n, ...], with n = `count`."""
    # B and n are explicit, because an empty tensor does not determine them.
    length = vectorized.pfor.loop_len_vector[0]
    unfolded = tf.concat([[length, count], tf.shape(tensor)[1:]], axis=0)
    return pfor.wrap(tf.reshape(tensor, unfolded), True)


def _of_one_iteration(shape: Output) -> tf.Tensor:
    """The value of an input that is a shape. It must be the same in all iterations, because
    their outputs are stacked."""
    if not shape.is_stacked:
        return shape.t
    same = tf.debugging.assert_equal(shape.t, shape.t[:1])
    with tf.control_dependencies([same]):
        return tf.identity(shape.t)[0]


def _renumber(tensor: tf.Tensor, role: Role, size: tf.Tensor) -> tf.Tensor:
    """Indices into tables of `size` rows as indices into the concatenated tables. A tensor
    without indices is unchanged."""
    if role is Role.INDICES:
        return _count_on(tf.cast(tensor, tf.int64), size)
    if role is Role.REGIONS:
        images = tensor[..., 0]
        # Drop the fraction, as the op does.
        images = tf.where(images < 0, tf.math.ceil(images), tf.math.floor(images))
        images = _count_on(images, size)
        return tf.concat([images[..., tf.newaxis], tensor[..., 1:]], axis=2)
    return tensor


def _count_on(indices: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Indices [B, ...], with iteration b counting from b * `size`. An index out of range,
    or NaN, stays out of range."""
    size = tf.cast(size, indices.dtype)
    iterations = tf.cast(tf.range(tf.shape(indices)[0]), indices.dtype)
    is_valid = (indices >= 0) & (indices < size)
    counted_on = indices + align(iterations * size, like=indices)
    return tf.where(is_valid, counted_on, -tf.ones_like(indices))
