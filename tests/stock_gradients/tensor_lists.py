# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's ops on lists of tensors, with the arguments that cases vary."""

import types
from typing import Any

import numpy as np
import tensorflow as tf
from rows import call

# Element shapes.
UNKNOWN = -1
NO_AXES = np.zeros(0, np.int32)
# Like a list: an element that is one.
VARIANT = types.SimpleNamespace(dtype=tf.variant)


def inner(x: Any) -> Any:
    """The shape of the rows of `x`."""
    return tf.shape(x)[1:]


def from_tensor(x: Any, shape: Any = UNKNOWN) -> Any:
    return call("TensorListFromTensor", x, shape)


def squares(x: Any, shape: Any = UNKNOWN) -> Any:
    """The list of the rows' squares."""
    return from_tensor(x * x, shape)


def stack(handle: Any, like: Any, shape: Any = UNKNOWN, count: int = -1) -> Any:
    return call("TensorListStack", handle, shape, element_dtype=like.dtype, num_elements=count)


def empty(like: Any, shape: Any = UNKNOWN) -> Any:
    return call("EmptyTensorList", shape, -1, element_dtype=like.dtype)


def reserve(like: Any, count: int, shape: Any = UNKNOWN) -> Any:
    return call("TensorListReserve", shape, count, element_dtype=like.dtype)


def push(handle: Any, x: Any) -> Any:
    return call("TensorListPushBack", handle, x)


def pop(handle: Any, like: Any, shape: Any = UNKNOWN) -> Any:
    return call("TensorListPopBack", handle, shape, element_dtype=like.dtype)


def get(handle: Any, index: Any, like: Any, shape: Any = UNKNOWN) -> Any:
    return call("TensorListGetItem", handle, index, shape, element_dtype=like.dtype)


def put(handle: Any, index: Any, x: Any, resize: bool = False) -> Any:
    return call("TensorListSetItem", handle, index, x, resize_if_index_out_of_bounds=resize)


def gather(handle: Any, indices: Any, like: Any, shape: Any = UNKNOWN) -> Any:
    return call("TensorListGather", handle, indices, shape, element_dtype=like.dtype)


def resize(handle: Any, size: Any) -> Any:
    return call("TensorListResize", handle, size)


def split(x: Any, lengths: Any, shape: Any = UNKNOWN) -> Any:
    return call("TensorListSplit", x, shape, lengths)


def concat(handle: Any, like: Any, shape: Any = UNKNOWN, leading: Any = ()) -> Any:
    leading = tf.constant(leading, tf.int64)
    return call("TensorListConcatV2", handle, shape, leading, element_dtype=like.dtype)[0]


def lists(x: Any) -> Any:
    """A list that holds one list."""
    return push(empty(VARIANT, NO_AXES), squares(x))
