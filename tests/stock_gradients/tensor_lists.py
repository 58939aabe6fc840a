# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's ops on lists of tensors, with the arguments that cases vary."""

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops

# Element shapes.
UNKNOWN = -1
NO_AXES = np.zeros(0, np.int32)
# Like a list: an element that is one.
VARIANT = types.SimpleNamespace(dtype=tf.variant)


def inner(x: Any) -> Any:
    """The shape of the rows of `x`."""
    return tf.shape(x)[1:]


def from_tensor(x: Any, shape: Any = UNKNOWN) -> Any:
    return raw.TensorListFromTensor(tensor=x, element_shape=shape)


def stack(handle: Any, like: Any, shape: Any = UNKNOWN, count: int = -1) -> Any:
    return raw.TensorListStack(
        input_handle=handle, element_shape=shape, element_dtype=like.dtype, num_elements=count
    )


def empty(like: Any, shape: Any = UNKNOWN) -> Any:
    return raw.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=like.dtype)


def reserve(like: Any, count: int, shape: Any = UNKNOWN) -> Any:
    return raw.TensorListReserve(element_shape=shape, num_elements=count, element_dtype=like.dtype)


def push(handle: Any, x: Any) -> Any:
    return raw.TensorListPushBack(input_handle=handle, tensor=x)


def pop(handle: Any, like: Any, shape: Any = UNKNOWN) -> Any:
    return raw.TensorListPopBack(input_handle=handle, element_shape=shape, element_dtype=like.dtype)


def get(handle: Any, index: Any, like: Any, shape: Any = UNKNOWN) -> Any:
    return raw.TensorListGetItem(
        input_handle=handle, index=index, element_shape=shape, element_dtype=like.dtype
    )


def put(handle: Any, index: Any, x: Any, resize: bool = False) -> Any:
    return raw.TensorListSetItem(
        input_handle=handle, index=index, item=x, resize_if_index_out_of_bounds=resize
    )


def gather(handle: Any, indices: Any, like: Any, shape: Any = UNKNOWN) -> Any:
    return raw.TensorListGather(
        input_handle=handle, indices=indices, element_shape=shape, element_dtype=like.dtype
    )


def resize(handle: Any, size: Any) -> Any:
    return raw.TensorListResize(input_handle=handle, size=size)


def split(x: Any, lengths: Any, shape: Any = UNKNOWN) -> Any:
    return raw.TensorListSplit(tensor=x, element_shape=shape, lengths=lengths)


def concat(handle: Any, like: Any, shape: Any = UNKNOWN, leading: Any = ()) -> Any:
    return raw.TensorListConcatV2(
        input_handle=handle,
        element_shape=shape,
        leading_dims=tf.constant(leading, tf.int64),
        element_dtype=like.dtype,
    )[0]


def lists(x: Any) -> Any:
    """A list that holds one list."""
    return push(empty(VARIANT, NO_AXES), from_tensor(x * x))


# ---- Cases


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def numeric(op: str, name: str, build: Callable[..., Any], inputs: Any) -> Case:
    """A case that central differences check."""
    return Case(op, name, build, inputs, reference="numeric", second_order="numeric")


def kinds(op: str, build: Callable[..., Any], shapes: Sequence[Any]) -> list[Case]:
    """Cases of one graph in double, float, half and complex."""
    doubles = [normal(*shape, seed=k) for k, shape in enumerate(shapes)]
    complexes = [complex_normal(*shape, seed=k) for k, shape in enumerate(shapes)]
    inputs = {
        "double": doubles,
        "float": [x.astype(np.float32) for x in doubles],
        "half": [x.astype(np.float16) for x in doubles],
        "complex": complexes,
    }
    cases = [Case(op, name, build, values) for name, values in inputs.items()]
    cases.append(Case(op, "known_shapes", build, doubles, known_shapes=True))
    cases.append(Case(op, "unknown_rank", build, doubles, known_shapes="rank"))
    return cases
