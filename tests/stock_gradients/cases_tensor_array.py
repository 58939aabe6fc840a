"""Arrays of tensors behind a handle (TensorArrayV3) and the flow that orders them.

Compared with central differences, because Python's gradient works only with control flow of version
2 off.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from cases_control_flow import in_branch
from old_ops import of_version
from parity import Case
from random_values import complex_normal, normal
from rows import call, numeric


class Array:
    """An array after some writes: its handle and their flow."""

    # The ops' version: "V3", "V2", or "" for the first.
    version = "V3"

    def __init__(self, handle: Any, flow: Any, dtype: Any) -> None:
        self.handle, self.flow, self.dtype = handle, flow, dtype

    @classmethod
    def new(cls, size: int, like: Any, dynamic: bool = False, shape: Any = None) -> "Array":
        how = {"dtype": like.dtype, "dynamic_size": dynamic, "element_shape": shape}
        made = call(f"TensorArray{cls.version}", size, clear_after_read=False, **how)
        handle, flow = made if cls.version == "V3" else (made, tf.constant(0.0))
        return cls(handle, flow, like.dtype)

    def _written(self, access: str, *values: Any) -> "Array":
        op = f"TensorArray{access}{self.version}"
        return Array(self.handle, call(op, self.handle, *values, self.flow), self.dtype)

    def _read(self, access: str, *places: Any) -> Any:
        op = f"TensorArray{access}{self.version}"
        return call(op, self.handle, *places, self.flow, dtype=self.dtype)

    def write(self, index: Any, value: Any) -> "Array":
        return self._written("Write", index, value)

    def scatter(self, indices: Any, value: Any) -> "Array":
        return self._written("Scatter", indices, value)

    def split(self, value: Any, lengths: Sequence[int]) -> "Array":
        return self._written("Split", value, np.array(lengths, np.int64))

    def read(self, index: Any) -> Any:
        return self._read("Read", index)

    def gather(self, indices: Any) -> Any:
        return self._read("Gather", indices)

    def concat(self) -> Any:
        return self._read("Concat")[0]


def written_and_read(x: Any, y: Any) -> Any:
    array = Array.new(2, x).write(0, x * x).write(1, x * y)
    return array.read(0) * array.read(1)


def read_twice(x: Any) -> Any:
    """The gradients of both reads are summed."""
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
    return tf.gather(x, Array.new(1, i).write(0, i).read(0)) ** 2


def fed_index(x: Any, i: Any) -> Any:
    return Array.new(3, x).scatter([0, 1, 2], x * x).read(i)


def in_function(x: Any, y: Any) -> Any:
    """The gradient makes the branch's array again."""
    return in_branch(written_and_read)(x, y)


def across_functions(x: Any) -> Any:
    array = Array.new(1, x).write(0, x * x)
    read = in_branch(lambda handle, flow: Array(handle, flow, x.dtype).read(0))
    return read(array.handle, array.flow)


def of_ops(version: str, build: Callable[..., Any]) -> Callable[..., Any]:
    """`build` with the ops of this version."""

    def built(*inputs: Any) -> Any:
        Array.version = version
        try:
            return build(*inputs)
        finally:
            Array.version = "V3"

    return of_version(15, built)


def row(access: str, name: str, build: Any, *inputs: Any, **more: Any) -> Case:
    return numeric(f"TensorArray{access}V3", name, *inputs, build=build, **more)


def old(access: str, name: str, build: Any, *inputs: Any, **more: Any) -> list[Case]:
    """A case of both earlier versions."""
    return [
        numeric(f"TensorArray{access}{v}", name, *inputs, build=of_ops(v, build), **more)
        for v in ("", "V2")
    ]


def every(access: str, *how: Any, **more: Any) -> list[Case]:
    """A case of all versions."""
    return [row(access, *how, **more), *old(access, *how, **more)]


X, Y = normal(3), normal(3, seed=1)
COMPLEX = complex_normal(3), complex_normal(3, seed=1)
ONE = np.array(1, np.int32)
ARGUMENT = "the handle is an argument of a function"
NOT_SPLIT = "only if TensorArraySplit wrote the array"
ONCE: dict[str, Any] = {"second_order": None}
CASES = [
    *every("Read", "formula", written_and_read, X, Y),
    row("Read", "complex", written_and_read, *COMPLEX),
    row("Read", "twice", read_twice, X, **ONCE),
    row("Read", "twice_second_order", read_twice, X, error="Could not read index 0 twice"),
    row("Read", "integers", of_integers, X, np.array([2, 0], np.int32)),
    *every("Read", "fed_index", fed_index, normal(3, 2), ONE),
    row("Read", "in_function", in_function, X, Y),
    row("Read", "across_functions", across_functions, X, error=ARGUMENT),
    row("Write", "read_between", read_between, X, **ONCE),
    *every("Write", "chain", chain, X),
    row("Write", "two_arrays", two_arrays, X, Y, **ONCE),
    row("Write", "grows", grows, X),
    *every("Gather", "scattered", gathered, normal(3, 2)),
    *every("Gather", "written", gathered_writes, X, Y),
    row("Gather", "two_arrays", two_arrays, Y, X, **ONCE),
    *every("Scatter", "gathered", gathered, normal(3, 4)),
    *every("Scatter", "concat", scattered_concat, normal(2, 3), **ONCE),
    *every("Scatter", "read", fed_index, normal(3), ONE),
    *every("Concat", "split", split_and_concat, normal(3, 2)),
    row("Concat", "scattered", scattered_concat, normal(2, 3, 2), error=NOT_SPLIT),
    *every("Concat", "other_lengths", of_other_lengths, X, normal(2), **ONCE),
    row("Concat", "other_lengths_split", split_and_concat, normal(3)),
    *every("Split", "concat", split_and_concat, normal(3)),
    *every("Split", "read", split_and_read, normal(3, 2)),
    *every("Split", "complex", split_and_concat, complex_normal(3, 2)),
    *old("Read", "grows", grows, X),
    *old("Write", "formula", written_and_read, Y, X),
    *old("Write", "other_lengths", of_other_lengths, X, normal(2), **ONCE),
    *old("Gather", "scattered_vector", gathered, X),
    *old("Concat", "scattered", scattered_concat, normal(2, 3, 2), **ONCE),
]
