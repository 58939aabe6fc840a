"""Rows that change in place, are stacked or shuffled, views of numbers, arithmetic sequences,
and ops that select elements that did not occur before, or not elsewhere."""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal, single
from rows import call, each, ints, longs, numeric


def in_place(op: str) -> list[Case]:
    """The ops change a copy, because they do not own the memory of fed tensors and of
    their gradients."""

    def build(x: Any, i: Any, v: Any) -> Any:
        return call(op, call("DeepCopy", x * x), i, v * v)

    # The rows of the numbers 4 and -1 are those of 1 and 2.
    rows = ints(0, 4, 1, -1)
    change = functools.partial(numeric, op, build=build, wrt=[0, 2])
    return [
        change("matrix", normal(3, 2), rows, normal(4, 2)),
        change("vector", normal(3), rows, normal(4), static="all"),
        change("cube", normal(3, 2, 2), rows, normal(4, 2, 2), static="none"),
        change("complex", complex_normal(3, 2), rows, complex_normal(4, 2)),
        change("float", single(3, 2), rows, single(4, 2)),
        change("no_updates", normal(3, 2), rows[:0], normal(0, 2)),
        change("no_columns", normal(3, 0), rows, normal(4, 0)),
    ]


def _stacked(*values: Any, shape: Any) -> Any:
    # The op needs the shapes.
    known = [tf.ensure_shape(x * x, [1, *shape]) for x in values]
    return call("ParallelConcat", known, shape=[len(values), *shape])


def _shuffled(x: Any) -> Any:
    key, counter = np.array([5], np.uint64), np.array([1, 2], np.uint64)
    return call("StatelessShuffle", x * x, key, counter, alg=1)


copy = functools.partial(numeric, "DeepCopy", build=lambda x: call("DeepCopy", x * x))
concat = functools.partial(numeric, "ParallelConcat", build=_stacked)
shuffle = functools.partial(numeric, "StatelessShuffle", build=_shuffled)
bitcast = functools.partial(
    numeric, "Bitcast", build=lambda x, type: call("Bitcast", x * x, type=type)
)

CASES = [
    *each("InplaceAdd InplaceSub InplaceUpdate", in_place),
    copy("double", normal(3, 2)),
    copy("complex", complex_normal(3), static="all"),
    copy("float", single(2, 2)),
    concat("three", *(normal(1, 2, 2, seed=seed) for seed in range(3)), shape=[2, 2]),
    concat("one", normal(1, 2), shape=[2], static="all"),
    concat("complex", complex_normal(1), complex_normal(1, seed=1), shape=[], static="none"),
    concat("float", single(1, 3), single(1, 3, seed=1), shape=[3]),
    shuffle("vector", normal(7)),
    shuffle("rows", normal(5, 2), static="all"),
    shuffle("cube", normal(4, 2, 2), static="none"),
    shuffle("complex", complex_normal(4)),
    shuffle("float", single(4, 3)),
    shuffle("scalar", normal()),
    shuffle("no_rows", normal(0, 2)),
    shuffle("no_columns", normal(3, 0)),
    bitcast("parts", complex_normal(3), type=tf.float64),
    bitcast("numbers", normal(3, 2), type=tf.complex128),
    bitcast(
        "complex64_parts", complex_normal(2, 3, dtype=np.complex64), type=tf.float32, static="all"
    ),
    bitcast("complex64", single(2, 2), type=tf.complex64, static="none"),
    bitcast("same_type", normal(2), type=tf.float64),
    bitcast("bits", normal(2), type=tf.float32, no_gradient=True),
]

# ---- Arithmetic sequences by their ends, which are away from jumps of the length


def ends(*numbers: Any, dtype: Any = np.float64) -> list[np.ndarray]:
    return [np.array(number, dtype) for number in numbers]


def _range(start: Any, limit: Any, delta: Any) -> Any:
    return call("Range", start * start, limit, delta * start)


def _lin_space(start: Any, stop: Any, num: Any, dtype: Any = np.int32) -> Any:
    return call("LinSpace", start * stop, stop * stop, num=np.array(num, dtype))


def _ragged(starts: Any, limits: Any, deltas: Any, splits: Any = np.int64) -> Any:
    made = call("RaggedRange", starts * starts, limits, deltas * deltas, Tsplits=splits)
    return tf.square(made[1])


HALVES = ends(1, 4.25, 0.5, dtype=np.float16)
range_ = functools.partial(numeric, "Range", build=_range)
lin_space = functools.partial(numeric, "LinSpace", build=_lin_space)
ragged = functools.partial(numeric, "RaggedRange", build=_ragged)
# The second row is empty, and must stay empty while its ends move.
ROWS = ends([1, 2, -1], [4.5, 4, 3.25], [0.8, 1, 1.2])

CASES += [
    range_("up", *ends(1, 4.5, 0.75)),
    range_("down", *ends(-2, -1.25, 1.5), static="all"),
    range_("none", *ends(2, 4, 0.75), wrt=[2], second_order=None),
    range_("one_element_each", *ends([1], [4.5], [0.75]), static="none"),
    range_("float", *ends(1, 4.5, 0.75, dtype=np.float32), step=2**-8, tolerance=1e-2),
    numeric("Range", "half", *HALVES, wrt=[0], step=2**-4, second_order=None),
    numeric(
        "Range",
        "integers",
        *(np.arange(1.0, 6), np.array(5, np.int32)),
        build=lambda x, n: tf.gather(x * x, call("Range", start=0, limit=n, delta=2)),
    ),
    lin_space("five", *ends(1, 4), num=5),
    lin_space("one", *ends(1.5, -4), num=1, static="all"),
    lin_space("two_int64", *ends(-1, 4), num=2, dtype=np.int64),
    lin_space("same_ends", *ends(2, 2), num=3, static="none"),
    lin_space("float", *ends(1, -2, dtype=np.float32), num=4),
    ragged("rows", *ends([1, 2], [4.5, 3.25], [0.8, 1])),
    ragged("empty_row", *ROWS, wrt=[2], static="all"),
    ragged("one_start", *ends(1.25), *ROWS[1:], splits=np.int32),
    ragged("one_row", *ends(1, 4.5, 0.8), static="none"),
    ragged("no_rows", *(x[:0] for x in ROWS)),
    ragged("float", *ends(1, 4.5, 0.8, dtype=np.float32), step=2**-6, tolerance=1e-2),
]

# ---- Ops that select elements. Equal ones must stay equal while differences are taken, so they are
# gathered from one element of the input.

# The sources of the elements; 2, 0, 1 is the order in which they first occur.
REPEATED = ints(2, 0, 2, 1, 0, 2)
VECTOR = normal(3)
SINGLE = {"step": 1e-2, "tolerance": 1e-2}


def unique(op: str, **axis: Any) -> functools.partial[Case]:
    """A case of an op whose argument is x^2 at indices `at` of the axis `along`."""

    def build(x: Any, at: Any = REPEATED, along: int = 0, **arguments: Any) -> Any:
        picked = tf.gather(x * x, at, axis=along)
        return tf.sin(call(op, picked, **arguments)[0])

    return functools.partial(numeric, op, build=build, **axis)


def kinds(op: str, **axis: Any) -> list[Case]:
    row = unique(op, **axis)
    return [
        row("repeated", VECTOR),
        row("distinct", VECTOR, at=np.arange(3), static="all"),
        row("int64", VECTOR, static="none", out_idx=tf.int64),
        row("none", VECTOR, at=ints()),
        row("float", np.array([1, 2, 3], np.float32), **SINGLE),
    ]


def slices(op: str) -> list[Case]:
    row = unique(op)
    return [
        *kinds(op, axis=[0]),
        row("no_axis", VECTOR, axis=longs()),
        row("rows", normal(3, 2), axis=[0], static="none"),
        row("columns", normal(2, 3), along=1, axis=np.array([1])),
        row("last_axis", normal(2, 2, 3), along=2, axis=[-1]),
        row("middle", normal(2, 3, 2), along=1, axis=[1], static="all"),
        row("no_rows", normal(3, 0), axis=[0]),
    ]


def _difference(x: Any, y: Any, out_idx: Any = tf.int32) -> Any:
    return tf.sin(call("ListDiff", x * x, y, out_idx=out_idx)[0])


def difference(name: str, x: np.ndarray, *y: float, **more: Any) -> Case:
    return numeric("ListDiff", name, x, np.array(y, x.dtype), build=_difference, wrt=[0], **more)


NUMBERS = np.array([1.5, 2, 1.25, 3])
CASES += [
    *each("Unique UniqueWithCounts", kinds),
    *each("UniqueV2 UniqueWithCountsV2", slices),
    difference("some", NUMBERS),
    difference("int64", NUMBERS, 7, 8.5, out_idx=tf.int64, static="all"),
    difference("unknown_rank", NUMBERS, 0.25, static="none"),
    difference("none", NUMBERS[:0], 3),
    difference("float", NUMBERS.astype(np.float32), 3, **SINGLE),
]
