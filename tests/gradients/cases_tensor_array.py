# SPDX-License-Identifier: Apache-2.0
"""Arrays of tensors behind a handle (TensorArrayV3) and the flow that orders them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from cases_control_flow import in_branch
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops


class Array:
    """An array as it is after some writes: its handle and their flow."""

    def __init__(self, handle: Any, flow: Any, dtype: Any) -> None:
        self.handle, self.flow, self.dtype = handle, flow, dtype

    @classmethod
    def new(cls, size: int, like: Any, dynamic: bool = False) -> "Array":
        made = raw.TensorArrayV3(
            size=size,
            dtype=like.dtype,
            dynamic_size=dynamic,
            clear_after_read=False,
            identical_element_shapes=False,
        )
        return cls(made.handle, made.flow, like.dtype)

    def _after(self, flow: Any) -> "Array":
        return Array(self.handle, flow, self.dtype)

    def write(self, index: Any, value: Any) -> "Array":
        return self._after(
            raw.TensorArrayWriteV3(
                handle=self.handle, index=index, value=value, flow_in=self.flow
            )
        )

    def read(self, index: Any) -> Any:
        return raw.TensorArrayReadV3(
            handle=self.handle, index=index, flow_in=self.flow, dtype=self.dtype
        )

    def scatter(self, indices: Any, value: Any) -> "Array":
        return self._after(
            raw.TensorArrayScatterV3(
                handle=self.handle, indices=indices, value=value, flow_in=self.flow
            )
        )

    def gather(self, indices: Any) -> Any:
        return raw.TensorArrayGatherV3(
            handle=self.handle, indices=indices, flow_in=self.flow, dtype=self.dtype
        )

    def split(self, value: Any, lengths: Sequence[int]) -> "Array":
        return self._after(
            raw.TensorArraySplitV3(
                handle=self.handle,
                value=value,
                lengths=np.array(lengths, np.int64),
                flow_in=self.flow,
            )
        )

    def concat(self) -> Any:
        return raw.TensorArrayConcatV3(
            handle=self.handle, flow_in=self.flow, dtype=self.dtype
        ).value


def written_and_read(x: Any, y: Any) -> Any:
    array = Array.new(2, x).write(0, x * x).write(1, x * y)
    return array.read(0) * array.read(1)


def read_twice(x: Any) -> Any:
    """The gradients of both readings add up."""
    array = Array.new(1, x).write(0, x * x)
    return [array.read(0), tf.exp(array.read(0))]


def read_between(x: Any) -> Any:
    array = Array.new(3, x).write(0, x)
    array = array.write(1, array.read(0) * x)
    array = array.write(2, array.read(1) * array.read(0))
    return array.read(2)


def two_arrays(x: Any, y: Any) -> Any:
    first = Array.new(2, x).write(0, x).write(1, y)
    second = Array.new(2, x).write(1, first.read(0)).write(0, first.read(1) ** 2)
    return second.gather([0, 1]) * first.gather([0, 1])


def gathered(x: Any) -> Any:
    array = Array.new(3, x).scatter([2, 0, 1], x * x)
    return [array.gather([1, 2]), array.read(0)]


def gathered_writes(x: Any, y: Any) -> Any:
    return Array.new(2, x).write(1, x * y).write(0, y).gather([0, 1])


def scattered_concat(x: Any) -> Any:
    return Array.new(2, x).scatter([1, 0], x * x).concat()


def split_and_concat(x: Any) -> Any:
    return Array.new(2, x).split(x * x, [1, 2]).concat()


def split_and_read(x: Any) -> Any:
    array = Array.new(2, x).split(x * x, [1, 2])
    return [array.read(1), array.read(0) * array.read(0)]


def of_other_lengths(x: Any, y: Any) -> Any:
    return Array.new(2, x).write(0, x * x).write(1, y).concat()


def grows(x: Any) -> Any:
    array = Array.new(0, x, dynamic=True).write(0, x).write(1, x * x)
    return array.read(1) * array.read(0)


def of_integers(x: Any, i: Any) -> Any:
    rows = Array.new(1, i).write(0, i).read(0)
    return tf.gather(x, rows) ** 2


def fed_index(x: Any, i: Any) -> Any:
    return Array.new(3, x).scatter([0, 1, 2], x * x).read(i)


def in_function(x: Any, y: Any) -> Any:
    """In the gradient the branch's array is made again."""

    def branch(x: Any, y: Any) -> Any:
        array = Array.new(2, x).write(0, x * x).write(1, x * y)
        return array.read(0) * array.read(1)

    return in_branch(branch)(x, y)


def across_functions(x: Any) -> Any:
    array = Array.new(1, x).write(0, x * x)

    def branch(handle: Any, flow: Any) -> Any:
        return Array(handle, flow, x.dtype).read(0)

    return in_branch(branch)(array.handle, array.flow)


def case(op: str, name: str, build: Any, *inputs: Any, **settings: Any) -> Case:
    """Of first order, against central differences.

    Python's gradient works where control flow of version 2 is off only.
    """
    return Case(
        op,
        name,
        build,
        inputs,
        **{"reference": "numeric", "second_order": None, **settings},
    )


X, Y = normal(3), normal(3, seed=1)
ONE = np.array(1, np.int32)
CASES = [
    case("TensorArrayReadV3", "formula", written_and_read, X, Y),
    case(
        "TensorArrayReadV3",
        "complex",
        written_and_read,
        complex_normal(3),
        complex_normal(3, seed=1),
    ),
    case("TensorArrayReadV3", "twice", read_twice, X),
    case("TensorArrayReadV3", "integers", of_integers, X, np.array([2, 0], np.int32)),
    case("TensorArrayReadV3", "fed_index", fed_index, normal(3, 2), ONE),
    case("TensorArrayReadV3", "in_function", in_function, X, Y),
    case(
        "TensorArrayReadV3",
        "across_functions",
        across_functions,
        X,
        error="the handle is an argument of a function",
    ),
    case(
        "TensorArrayReadV3",
        "second_order",
        written_and_read,
        X,
        Y,
        second_order="numeric",
        error="TensorFlow has no array for the gradient of a gradient's array",
    ),
    case("TensorArrayWriteV3", "read_between", read_between, X),
    case("TensorArrayWriteV3", "two_arrays", two_arrays, X, Y),
    case("TensorArrayWriteV3", "grows", grows, X),
    case("TensorArrayGatherV3", "scattered", gathered, normal(3, 2)),
    case("TensorArrayGatherV3", "written", gathered_writes, X, Y),
    case("TensorArrayGatherV3", "two_arrays", two_arrays, Y, X),
    case("TensorArrayScatterV3", "gathered", gathered, normal(3, 4)),
    case("TensorArrayScatterV3", "concat", scattered_concat, normal(2, 3)),
    case("TensorArrayScatterV3", "read", fed_index, normal(3), ONE),
    case("TensorArrayConcatV3", "split", split_and_concat, normal(3, 2)),
    case("TensorArrayConcatV3", "scattered", scattered_concat, normal(2, 3, 2)),
    case("TensorArrayConcatV3", "other_lengths", of_other_lengths, X, normal(2)),
    case("TensorArraySplitV3", "concat", split_and_concat, normal(3)),
    case("TensorArraySplitV3", "read", split_and_read, normal(3, 2)),
    case("TensorArraySplitV3", "complex", split_and_concat, complex_normal(3, 2)),
]
