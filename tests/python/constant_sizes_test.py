"""Sizes that an op takes as an argument, 'data_shape', if a graph knows them: as a constant, from
which a shape function infers the output's shape, and under XLA. In the table of cases
(tests/clients/cases.md) they come from outside the graph.
"""

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from tensorflow_ext import raw_ops

ROIS = tf.zeros([1, 5])


def align(sizes: Any) -> tf.Tensor:
    bins = tf.zeros([1, 2, 2, 1])
    return raw_ops.roi_align_grad(bins, ROIS, sizes, pooled_height=2, pooled_width=2)


def pool(sizes: Any) -> tf.Tensor:
    argmax = tf.zeros([1, 2, 2, 1], tf.int32)
    return raw_ops.roi_pool_grad(tf.zeros([1, 2, 2, 1]), ROIS, argmax, sizes)


def sample(sizes: Any) -> tf.Tensor:
    return raw_ops.resampler_adjoint(tf.zeros([1, 3, 1]), tf.zeros([1, 3, 2]), sizes)


OPS = pytest.mark.parametrize("op", [align, pool, sample])


@OPS
def test_known(op: Callable[[Any], tf.Tensor]) -> None:
    made = tf.function(lambda: op(tf.constant([1, 4, 5, 1]))).get_concrete_function()
    assert made.output_shapes == [1, 4, 5, 1]


@OPS
def test_known_in_part(op: Callable[[Any], tf.Tensor]) -> None:
    function = tf.function(
        lambda images: op(tf.shape(images)),
        input_signature=[tf.TensorSpec([1, None, 5, 1], tf.float32)],
    )
    assert function.get_concrete_function().output_shapes.as_list() == [1, None, 5, 1]


# TensorFlow refuses a size below -1 before it asks the op.
@OPS
@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([1, -1, 2, 1], r"argument 'data_shape' of shape \[4\] is \[1 -1 2 1\], exp"),
        ([2**31 - 1] * 4, r"argument 'data_shape' of shape \[4\] is \[2147483647 2147"),
        ([1, 2, 2], r"argument 'data_shape' has shape \[3\], expected \[4\]"),
        ([1, 2, 2, 3], r"argument '\w+' has shape \[1,.*,1\], expected that of .*,3\]"),
    ],
)
def test_refused(op: Callable[[Any], tf.Tensor], sizes: list[int], said: str) -> None:
    with pytest.raises(ValueError, match=rf"TfExt>\w+: {said}"):
        tf.function(lambda: op(tf.constant(sizes)))()


@OPS
@pytest.mark.parametrize("sizes", [[1, -2, 2, 1], [2**31 - 1] * 4])
def test_refused_by_xla(op: Callable[[Any], tf.Tensor], sizes: list[int]) -> None:
    said = rf"TfExt>\w+: argument 'data_shape' is \[{' '.join(map(str, sizes))}\], exp"
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        tf.function(op, jit_compile=True)(tf.constant(sizes))


@pytest.mark.parametrize("size", [0, 3])
def test_as_many_indices_as_elements_are_kept(size: int) -> None:
    function = tf.function(lambda: raw_ops.zero_out_with_index(tf.zeros([size]))[1])
    assert function.get_concrete_function().output_shapes == function().shape
