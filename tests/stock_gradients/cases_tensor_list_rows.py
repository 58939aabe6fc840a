# SPDX-License-Identifier: Apache-2.0
"""Many elements of lists of tensors: gathered, scattered, split, concatenated.

Central differences are the reference where Python's gradient is wrong (indices
that repeat) or fails (lists of other lengths or shapes than it makes).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal
from tensor_lists import (
    NO_AXES,
    VARIANT,
    concat,
    empty,
    from_tensor,
    gather,
    get,
    inner,
    ints,
    kinds,
    lists,
    numeric,
    pop,
    push,
    put,
    reserve,
    split,
    stack,
)

raw = tf.raw_ops

# ---- Gather


def gathered(*indices: int) -> Callable[..., Any]:
    return lambda x: gather(from_tensor(x * x), list(indices), x)


def gathered_fed(x: Any, indices: Any) -> Any:
    return gather(from_tensor(x * x, inner(x)), indices, x, inner(x))


def gathered_of_shapes(x: Any, y: Any) -> Any:
    return gather(push(from_tensor(x * x), y), [2, 0, 2], x)


GATHER = [
    *kinds("TensorListGather", gathered(2, 0), [(3, 2)]),
    numeric("TensorListGather", "repeated", gathered(2, 0, 2, 2), [normal(3, 2)]),
    numeric("TensorListGather", "repeated_complex", gathered(1, 1, 0), [complex_normal(3, 2)]),
    numeric("TensorListGather", "repeated_scalars", gathered(1, 3, 1), [normal(4)]),
    Case("TensorListGather", "fed", gathered_fed, [normal(3, 2), ints(1, 2)]),
    Case("TensorListGather", "nothing", gathered_fed, [normal(3, 2), ints()]),
    numeric("TensorListGather", "other_shapes", gathered_of_shapes, [normal(3, 2), normal(4)]),
]

# ---- Scatter


def scattered(x: Any, indices: Any) -> Any:
    a = raw.TensorListScatter(tensor=x * x, indices=indices, element_shape=inner(x))
    return stack(a, x, inner(x))


def scattered_v2(count: int) -> Callable[..., Any]:
    def build(x: Any, indices: Any) -> Any:
        a = raw.TensorListScatterV2(
            tensor=x * x, indices=indices, element_shape=inner(x), num_elements=count
        )
        return stack(a, x, inner(x))

    return build


def into_list(x: Any, y: Any, indices: Any) -> Any:
    return raw.TensorListScatterIntoExistingList(
        input_handle=from_tensor(x * x), tensor=y * y, indices=indices
    )


def scattered_into(x: Any, y: Any, indices: Any) -> Any:
    return stack(into_list(x, y, indices), x, inner(x))


def lengthened_by_rows(x: Any, y: Any, indices: Any) -> Any:
    return gather(into_list(x, y, indices), tf.concat([indices, [0]], 0), x)


def scatter_cases(op: str, build: Callable[..., Any], *into: Any) -> list[Case]:
    """`into`: the shape of the list, where there is one."""
    lists = [normal(*shape) for shape in into]
    three = normal(3, 2, seed=5)

    def case(name: str, indices: Any, dtype: Any, **more: Any) -> Case:
        inputs = [x.astype(dtype) for x in [*lists, three]]
        return Case(op, name, build, [*inputs, indices], **more)

    central = {"reference": "numeric", "second_order": "numeric"}
    return [
        case("double", ints(2, 0, 3), np.float64),
        case("float", ints(0, 1, 2), np.float32),
        case("half", ints(1, 0, 2), np.float16),
        case("complex", ints(3, 0, 1), np.complex128),
        case("known_shapes", ints(1, 0, 2), np.float64, known_shapes=True),
        case("unknown_rank", ints(1, 0, 2), np.float64, known_shapes="rank"),
        case("repeated", ints(1, 3, 1), np.float64, **central),
        case("all_the_same", ints(0, 0, 0), np.complex128, **central),
    ]


SCATTER = [
    *scatter_cases("TensorListScatter", scattered),
    *scatter_cases("TensorListScatterV2", scattered_v2(5)),
    *scatter_cases("TensorListScatterIntoExistingList", scattered_into, (4, 2)),
    Case("TensorListScatter", "nothing", scattered, [normal(0, 2), ints()]),
    Case("TensorListScatter", "scalars", scattered, [normal(2), ints(1, 0)]),
    numeric("TensorListScatter", "repeated_scalars", scattered, [normal(3), ints(1, 0, 1)]),
    Case("TensorListScatterV2", "no_number", scattered_v2(-1), [normal(2, 2), ints(3, 1)]),
    Case(
        "TensorListScatterIntoExistingList",
        "nothing",
        scattered_into,
        [normal(3, 2), normal(0, 2), ints()],
    ),
    numeric(
        "TensorListScatterIntoExistingList",
        "lengthens",
        lengthened_by_rows,
        [normal(2, 2), normal(2, 2), ints(1, 2)],
    ),
    numeric(
        "TensorListScatterIntoExistingList",
        "lengthens_with_a_gap",
        lengthened_by_rows,
        [normal(2, 2), normal(2, 2), ints(1, 3)],
    ),
    Case(
        "TensorListGather",
        "rows_that_are_lists",
        lambda x: stack(
            get(
                from_tensor(gather(lists(x), [0, 0], VARIANT, NO_AXES), NO_AXES),
                0,
                VARIANT,
                NO_AXES,
            ),
            x,
        ),
        [normal(3, 2)],
        error="element_dtype=variant is not supported",
    ),
    Case(
        "TensorListScatterV2",
        "rows_that_are_lists",
        lambda x: stack(
            get(
                raw.TensorListScatterV2(
                    tensor=tf.stack([from_tensor(x * x), from_tensor(x)]),
                    indices=[1, 0],
                    element_shape=NO_AXES,
                    num_elements=2,
                ),
                0,
                VARIANT,
            ),
            x,
        ),
        [normal(3, 2)],
        error="element_dtype=variant is not supported",
    ),
]

# ---- Split, Concat


def joined(x: Any) -> Any:
    return concat(split(x * x, np.array([2, 0, 1])), x)


def joined_v1(x: Any) -> Any:
    return raw.TensorListConcat(input_handle=split(x * x, np.array([1, 2])), element_dtype=x.dtype)[
        0
    ]


def some_of_split(x: Any) -> Any:
    a = split(x * x, np.array([2, 0, 1]))
    return get(a, 0, x)


def joined_pushed(x: Any, y: Any) -> Any:
    a = push(push(empty(x), x * x), y * y)
    return concat(a, x)


def joined_unset(x: Any) -> Any:
    a = put(reserve(x, 3, [-1, 2]), 1, x * x)
    return concat(a, x, [-1, 2], [2, 3, 1])


JOIN = [
    *kinds("TensorListConcatV2", joined, [(3, 2)]),
    *kinds("TensorListConcat", joined_v1, [(3, 2)]),
    *kinds("TensorListSplit", joined, [(3, 1, 2)]),
    Case(
        "TensorListSplit",
        "element_shape",
        lambda x: concat(split(x * x, np.array([2, 1]), [-1, 2]), x, [-1, 2]),
        [normal(3, 2)],
    ),
    Case(
        "TensorListConcatV2",
        "equal_lengths",
        lambda x: concat(from_tensor(x * x, inner(x)), x, [3, 2]),
        [normal(2, 3, 2)],
    ),
    Case("TensorListSplit", "scalars", joined, [normal(3)]),
    Case("TensorListSplit", "one_piece", some_of_split, [normal(3, 2)]),
    Case(
        "TensorListSplit",
        "popped",
        lambda x: (lambda a, b: [concat(a, x), b * b])(*pop(split(x * x, np.array([1, 1, 1])), x)),
        [normal(3, 2)],
    ),
    Case("TensorListConcatV2", "pushed", joined_pushed, [normal(2, 2), normal(3, 2)]),
    Case("TensorListConcatV2", "leading_dims", joined_unset, [normal(3, 2)]),
    Case(
        "TensorListConcat",
        "element_shape",
        lambda x: raw.TensorListConcat(
            input_handle=from_tensor(x * x, [-1, 2]), element_dtype=x.dtype, element_shape=[None, 2]
        )[0],
        [normal(2, 3, 2)],
    ),
]

CASES = [*GATHER, *SCATTER, *JOIN]
