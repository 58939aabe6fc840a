"""TensorFlow's ops on lists of tensors, with the arguments that cases vary."""

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf
from rows import call

# Element shapes.
UNKNOWN = -1
NO_AXES = np.zeros(0, np.int32)


@dataclasses.dataclass
class List:
    """The handle of a list and the type of its elements."""

    handle: Any
    dtype: Any

    def _changed(self, op: str, *inputs: Any, **how: Any) -> "List":
        return List(call(f"TensorList{op}", self.handle, *inputs, **how), self.dtype)

    def _taken(self, op: str, *inputs: Any, **how: Any) -> Any:
        return call(f"TensorList{op}", self.handle, *inputs, element_dtype=self.dtype, **how)

    def push(self, x: Any) -> "List":
        return self._changed("PushBack", x)

    def put(self, index: Any, x: Any, resize: bool = False) -> "List":
        return self._changed("SetItem", index, x, resize_if_index_out_of_bounds=resize)

    def resize(self, size: Any) -> "List":
        return self._changed("Resize", size)

    def scatter(self, x: Any, indices: Any) -> "List":
        return self._changed("ScatterIntoExistingList", x, indices)

    def pop(self) -> tuple["List", Any]:
        rest, last = self._taken("PopBack", UNKNOWN)
        return List(rest, self.dtype), last

    def get(self, index: Any, shape: Any = UNKNOWN) -> Any:
        return self._taken("GetItem", index, shape)

    def gather(self, indices: Any, shape: Any = UNKNOWN) -> Any:
        return self._taken("Gather", indices, shape)

    def stack(self, shape: Any = UNKNOWN, count: int = -1) -> Any:
        return self._taken("Stack", shape, num_elements=count)

    def concat(self, shape: Any = UNKNOWN, leading: Any = ()) -> Any:
        return self._taken("ConcatV2", shape, tf.constant(leading, tf.int64))[0]


def of(x: Any, shape: Any = UNKNOWN) -> List:
    """The list of the rows."""
    return List(call("TensorListFromTensor", x, shape), x.dtype)


def empty(dtype: Any, shape: Any = UNKNOWN) -> List:
    return List(call("EmptyTensorList", shape, -1, element_dtype=dtype), dtype)


def reserve(dtype: Any, count: int, shape: Any = UNKNOWN) -> List:
    return List(call("TensorListReserve", shape, count, element_dtype=dtype), dtype)


def split(x: Any, *lengths: int, shape: Any = UNKNOWN) -> List:
    return List(call("TensorListSplit", x, shape, np.array(lengths)), x.dtype)


def of_list(x: Any) -> List:
    """A list that holds one list."""
    return empty(tf.variant, NO_AXES).push(of(x * x).handle)


def inner(x: Any) -> Any:
    """The shape of the rows."""
    return tf.shape(x)[1:]
