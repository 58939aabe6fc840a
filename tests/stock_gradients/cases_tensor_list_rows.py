# SPDX-License-Identifier: Apache-2.0
"""Many elements of lists of tensors: gathered, scattered, split, concatenated.

See cases_tensor_list.py.
"""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from cases_tensor_list import kinds
from parity import Case
from random_values import complex_normal, normal
from rows import call, case, ints, longs, numeric
from tensor_lists import (
    NO_AXES,
    VARIANT,
    concat,
    empty,
    from_tensor,
    gather,
    get,
    inner,
    lists,
    pop,
    push,
    put,
    reserve,
    split,
    squares,
    stack,
)

# ---- Gather


def gathered(x: Any, indices: Any = (2, 0)) -> Any:
    return gather(squares(x), list(indices), x)


def gathered_fed(x: Any, indices: Any) -> Any:
    return gather(from_tensor(x * x, inner(x)), indices, x, inner(x))


def rows_that_are_lists(x: Any) -> Any:
    two = gather(lists(x), [0, 0], VARIANT, NO_AXES)
    return stack(get(from_tensor(two, NO_AXES), 0, VARIANT, NO_AXES), x)


NOT_SUPPORTED = {"error": "element_dtype=variant is not supported"}
gathering = functools.partial(case, "TensorListGather")
repeated = functools.partial(numeric, "TensorListGather", build=gathered)
GATHER = [
    *kinds("TensorListGather", gathered, (3, 2)),
    repeated("repeated", normal(3, 2), indices=[2, 0, 2, 2]),
    repeated("repeated_complex", complex_normal(3, 2), indices=[1, 1, 0]),
    repeated("repeated_scalars", normal(4), indices=[1, 3, 1]),
    gathering("fed", normal(3, 2), ints(1, 2), build=gathered_fed),
    gathering("nothing", normal(3, 2), ints(), build=gathered_fed),
    repeated(
        "other_shapes",
        normal(3, 2),
        normal(4),
        build=lambda x, y: gather(push(squares(x), y), [2, 0, 2], x),
    ),
    gathering("rows_that_are_lists", normal(3, 2), build=rows_that_are_lists, **NOT_SUPPORTED),
]

# ---- Scatter


def scattered(x: Any, indices: Any) -> Any:
    return stack(call("TensorListScatter", x * x, indices, inner(x)), x, inner(x))


def scattered_v2(x: Any, indices: Any, count: int = 5) -> Any:
    return stack(call("TensorListScatterV2", x * x, indices, inner(x), count), x, inner(x))


def into_list(x: Any, y: Any, indices: Any) -> Any:
    return call("TensorListScatterIntoExistingList", squares(x), y * y, indices)


def scattered_into(x: Any, y: Any, indices: Any) -> Any:
    return stack(into_list(x, y, indices), x, inner(x))


def lengthened_by_rows(x: Any, y: Any, indices: Any) -> Any:
    return gather(into_list(x, y, indices), tf.concat([indices, [0]], 0), x)


def scattered_lists(x: Any) -> Any:
    rows = tf.stack([squares(x), from_tensor(x)])
    return stack(get(call("TensorListScatterV2", rows, [1, 0], NO_AXES, 2), 0, VARIANT), x)


def scatter(op: str, build: Any, *into: np.ndarray) -> list[Case]:
    """`into`: the list, where there is one."""

    def row(
        name: str, indices: np.ndarray, dtype: Any = np.float64, make: Any = case, **more: Any
    ) -> Case:
        values = (x.astype(dtype) for x in (*into, normal(3, 2, seed=5)))
        return make(op, name, *values, indices, build=build, **more)

    return [
        row("double", ints(2, 0, 3)),
        row("float", ints(0, 1, 2), np.float32),
        row("half", ints(1, 0, 2), np.float16),
        row("complex", ints(3, 0, 1), np.complex128),
        row("known_shapes", ints(1, 0, 2), known_shapes=True),
        row("unknown_rank", ints(1, 0, 2), known_shapes="rank"),
        row("repeated", ints(1, 3, 1), make=numeric),
        row("all_the_same", ints(0, 0, 0), np.complex128, numeric),
    ]


into = functools.partial(case, "TensorListScatterIntoExistingList", build=scattered_into)
longer = functools.partial(numeric, "TensorListScatterIntoExistingList", build=lengthened_by_rows)
second = functools.partial(case, "TensorListScatterV2", build=scattered_v2)
first = functools.partial(case, "TensorListScatter", build=scattered)
SCATTER = [
    *scatter("TensorListScatter", scattered),
    *scatter("TensorListScatterV2", scattered_v2),
    *scatter("TensorListScatterIntoExistingList", scattered_into, normal(4, 2)),
    first("nothing", normal(0, 2), ints()),
    first("scalars", normal(2), ints(1, 0)),
    numeric("TensorListScatter", "repeated_scalars", normal(3), ints(1, 0, 1), build=scattered),
    second("no_number", normal(2, 2), ints(3, 1), count=-1),
    second("rows_that_are_lists", normal(3, 2), build=scattered_lists, **NOT_SUPPORTED),
    into("nothing", normal(3, 2), normal(0, 2), ints()),
    longer("lengthens", normal(2, 2), normal(2, 2), ints(1, 2)),
    longer("lengthens_with_a_gap", normal(2, 2), normal(2, 2), ints(1, 3)),
]

# ---- Split, Concat


def joined(x: Any) -> Any:
    return concat(split(x * x, longs(2, 0, 1)), x)


def joined_v1(x: Any) -> Any:
    pieces = split(x * x, longs(1, 2))
    return call("TensorListConcat", pieces, element_dtype=x.dtype)[0]


def joined_v1_of_shape(x: Any) -> Any:
    rows = squares(x, [-1, 2])
    how = {"element_dtype": x.dtype, "element_shape": [None, 2]}
    return call("TensorListConcat", rows, **how)[0]


def joined_popped(x: Any) -> Any:
    a, b = pop(split(x * x, longs(1, 1, 1)), x)
    return [concat(a, x), b * b]


def joined_pushed(x: Any, y: Any) -> Any:
    return concat(push(push(empty(x), x * x), y * y), x)


def joined_unset(x: Any) -> Any:
    return concat(put(reserve(x, 3, [-1, 2]), 1, x * x), x, [-1, 2], [2, 3, 1])


cut = functools.partial(case, "TensorListSplit")
joining = functools.partial(case, "TensorListConcatV2")
JOIN = [
    *kinds("TensorListConcatV2", joined, (3, 2)),
    *kinds("TensorListConcat", joined_v1, (3, 2)),
    *kinds("TensorListSplit", joined, (3, 1, 2)),
    cut(
        "element_shape",
        normal(3, 2),
        build=lambda x: concat(split(x * x, longs(2, 1), [-1, 2]), x, [-1, 2]),
    ),
    cut("scalars", normal(3), build=joined),
    cut("one_piece", normal(3, 2), build=lambda x: get(split(x * x, longs(2, 0, 1)), 0, x)),
    cut("popped", normal(3, 2), build=joined_popped),
    joining(
        "equal_lengths",
        normal(2, 3, 2),
        build=lambda x: concat(from_tensor(x * x, inner(x)), x, [3, 2]),
    ),
    joining("pushed", normal(2, 2), normal(3, 2), build=joined_pushed),
    joining("leading_dims", normal(3, 2), build=joined_unset),
    case("TensorListConcat", "element_shape", normal(2, 3, 2), build=joined_v1_of_shape),
]

CASES = [*GATHER, *SCATTER, *JOIN]
