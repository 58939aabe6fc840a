# SPDX-License-Identifier: Apache-2.0
"""Arrays of tensors behind a handle (TensorArrayV3) and the flow that orders them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from cases_control_flow import in_branch
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops


class Array:
    """An array as it is after some writes: its handle and their flow."""

    # Of the ops: "V3", "V2", or "" for the first.
    version = "V3"

    def __init__(self, handle: Any, flow: Any, dtype: Any) -> None:
        self.handle, self.flow, self.dtype = handle, flow, dtype

    @classmethod
    def new(cls, size: int, like: Any, dynamic: bool = False, shape: Any = None) -> "Array":
        settings: dict[str, Any] = {
            "size": size,
            "dtype": like.dtype,
            "dynamic_size": dynamic,
            "element_shape": shape,
            "clear_after_read": False,
        }
        made = cls._op("")(**settings)
        if cls.version == "V3":
            return cls(made.handle, made.flow, like.dtype)
        return cls(made, tf.constant(0.0), like.dtype)

    @classmethod
    def _op(cls, access: str) -> Callable[..., Any]:
        return getattr(raw, f"TensorArray{access}{cls.version}")

    def _after(self, flow: Any) -> "Array":
        return Array(self.handle, flow, self.dtype)

    def write(self, index: Any, value: Any) -> "Array":
        return self._after(
            self._op("Write")(handle=self.handle, index=index, value=value, flow_in=self.flow)
        )

    def read(self, index: Any) -> Any:
        return self._op("Read")(
            handle=self.handle, index=index, flow_in=self.flow, dtype=self.dtype
        )

    def scatter(self, indices: Any, value: Any) -> "Array":
        return self._after(
            self._op("Scatter")(handle=self.handle, indices=indices, value=value, flow_in=self.flow)
        )

    def gather(self, indices: Any) -> Any:
        return self._op("Gather")(
            handle=self.handle, indices=indices, flow_in=self.flow, dtype=self.dtype
        )

    def split(self, value: Any, lengths: Sequence[int]) -> "Array":
        return self._after(
            self._op("Split")(
                handle=self.handle,
                value=value,
                lengths=np.array(lengths, np.int64),
                flow_in=self.flow,
            )
        )

    def concat(self) -> Any:
        return self._op("Concat")(handle=self.handle, flow_in=self.flow, dtype=self.dtype).value


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


def chain(x: Any) -> Any:
    """As above, but every element is read once."""
    array = Array.new(3, x, shape=[3]).write(0, x * x)
    array = array.write(1, array.read(0) * x)
    return array.write(2, tf.sin(array.read(1))).read(2)


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
    first = array.read(0)
    return [array.read(1), first * first]


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


def of_version(version: str, build: Callable[..., Any]) -> Callable[..., Any]:
    """`build` with the ops of this version, in a graph that is old enough."""

    def built(*inputs: Any) -> Any:
        tf.import_graph_def(tf.compat.v1.GraphDef(versions={"producer": 15}))
        Array.version = version
        try:
            return build(*inputs)
        finally:
            Array.version = "V3"

    return built


def case(op: str, name: str, build: Any, *inputs: Any, **settings: Any) -> Case:
    """Against central differences.

    Python's gradient works where control flow of version 2 is off only.
    """
    return Case(
        op, name, build, inputs, **{"reference": "numeric", "second_order": "numeric", **settings}
    )


def old(access: str, name: str, build: Any, *inputs: Any, **settings: Any) -> list[Case]:
    """A case of both earlier versions."""
    return [
        case(f"TensorArray{access}{version}", name, of_version(version, build), *inputs, **settings)
        for version in ("", "V2")
    ]


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
    case("TensorArrayReadV3", "twice", read_twice, X, second_order=None),
    case(
        "TensorArrayReadV3",
        "twice_second_order",
        read_twice,
        X,
        error="Could not read index 0 twice",
    ),
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
    case("TensorArrayWriteV3", "read_between", read_between, X, second_order=None),
    case("TensorArrayWriteV3", "chain", chain, X),
    case("TensorArrayWriteV3", "two_arrays", two_arrays, X, Y, second_order=None),
    case("TensorArrayWriteV3", "grows", grows, X),
    case("TensorArrayGatherV3", "scattered", gathered, normal(3, 2)),
    case("TensorArrayGatherV3", "written", gathered_writes, X, Y),
    case("TensorArrayGatherV3", "two_arrays", two_arrays, Y, X, second_order=None),
    case("TensorArrayScatterV3", "gathered", gathered, normal(3, 4)),
    case("TensorArrayScatterV3", "concat", scattered_concat, normal(2, 3), second_order=None),
    case("TensorArrayScatterV3", "read", fed_index, normal(3), ONE),
    case("TensorArrayConcatV3", "split", split_and_concat, normal(3, 2)),
    case(
        "TensorArrayConcatV3",
        "scattered",
        scattered_concat,
        normal(2, 3, 2),
        error="only if TensorArraySplit wrote it",
    ),
    case("TensorArrayConcatV3", "other_lengths", of_other_lengths, X, normal(2), second_order=None),
    case("TensorArrayConcatV3", "other_lengths_split", split_and_concat, normal(3)),
    case("TensorArraySplitV3", "concat", split_and_concat, normal(3)),
    case("TensorArraySplitV3", "read", split_and_read, normal(3, 2)),
    case("TensorArraySplitV3", "complex", split_and_concat, complex_normal(3, 2)),
    *old("Read", "formula", written_and_read, X, Y),
    *old("Read", "grows", grows, X),
    *old("Read", "fed_index", fed_index, normal(3, 2), ONE),
    *old("Write", "formula", written_and_read, Y, X),
    *old("Write", "chain", chain, X),
    *old("Write", "other_lengths", of_other_lengths, X, normal(2), second_order=None),
    *old("Gather", "scattered", gathered, normal(3, 2)),
    *old("Gather", "written", gathered_writes, X, Y),
    *old("Gather", "scattered_vector", gathered, X),
    *old("Scatter", "gathered", gathered, normal(3, 4)),
    *old("Scatter", "concat", scattered_concat, normal(2, 3), second_order=None),
    *old("Scatter", "read", fed_index, normal(3), ONE),
    *old("Concat", "split", split_and_concat, normal(3, 2)),
    *old("Concat", "scattered", scattered_concat, normal(2, 3, 2), second_order=None),
    *old("Concat", "other_lengths", of_other_lengths, Y, normal(2), second_order=None),
    *old("Split", "concat", split_and_concat, normal(3)),
    *old("Split", "read", split_and_read, normal(3, 2)),
    *old("Split", "complex", split_and_concat, complex_normal(3, 2)),
]
