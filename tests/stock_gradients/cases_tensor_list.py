# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors: every case makes a list and ends in tensors again.

Central differences are the reference where Python's gradient fails, on lists of other
lengths or shapes than it makes, or is wrong, for indices that repeat.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal
from rows import call, case, ints, longs, numeric
from tensor_lists import (
    NO_AXES,
    UNKNOWN,
    VARIANT,
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
    resize,
    split,
    squares,
    stack,
)

single = functools.partial(normal, dtype=np.float32)


def kinds(op: str, build: Callable[..., Any], *shapes: tuple[int, ...]) -> list[Case]:
    """Cases of one graph in double, float, half and complex."""
    row = functools.partial(case, op, build=build)
    doubles = [normal(*shape, seed=k) for k, shape in enumerate(shapes)]
    return [
        row("double", *doubles),
        row("float", *(x.astype(np.float32) for x in doubles)),
        row("half", *(x.astype(np.float16) for x in doubles)),
        row("complex", *(complex_normal(*shape, seed=k) for k, shape in enumerate(shapes))),
        row("known_shapes", *doubles, known_shapes=True),
        row("unknown_rank", *doubles, known_shapes="rank"),
    ]


# ---- Stack, FromTensor


def _scalars(x: Any) -> Any:
    return stack(from_tensor(x * x, tf.zeros([0], tf.int64)), x, NO_AXES)


def _two_ways(x: Any) -> Any:
    a = squares(x)
    return [stack(a, x), get(a, 1, x), get(a, 1, x)]


def _rest_of_other_shapes(x: Any, y: Any) -> Any:
    """The element that was taken off has another shape than those stacked."""
    a, b = pop(push(squares(x), y), y)
    return [stack(a, x), b * b]


stacked = functools.partial(case, "TensorListStack")
made = functools.partial(case, "TensorListFromTensor")
different = functools.partial(numeric, "TensorListStack")
STACK = [
    *kinds("TensorListStack", lambda x: stack(squares(x), x), (3, 2)),
    *kinds("TensorListFromTensor", lambda x: stack(squares(x), x), (2, 3, 2)),
    stacked(
        "number_and_shape",
        normal(3, 2, 2),
        build=lambda x: stack(squares(x, [-1, 2]), x, [2, 2], 3),
    ),
    stacked("scalars_int64_shape", normal(4), build=_scalars),
    made("empty", normal(0, 2), build=lambda x: stack(squares(x, [2]), x, [2])),
    made("two_ways", normal(3, 2), build=_two_ways),
    different("rest_of_other_shapes", normal(3, 2), normal(4), build=_rest_of_other_shapes),
]

# ---- GetItem, SetItem


def _shape_of_rows(x: Any) -> Any:
    """The element shape of another list."""
    return call("TensorListElementShape", from_tensor(x, inner(x)), shape_type=tf.int32)


def _one_of(x: Any) -> Any:
    a = squares(x)
    return get(a, 1, x) * get(a, 0, x)


def _replaced(x: Any, y: Any) -> Any:
    return stack(put(squares(x), 1, y * y), x)


def _replaced_by_its_own(x: Any) -> Any:
    a = from_tensor(x)
    return stack(put(a, 1, get(a, 0, x) * get(a, 2, x)), x)


def _lengthened(x: Any, y: Any) -> Any:
    a = put(squares(x), 4, y * y, resize=True)
    return [get(a, 4, x), get(a, 0, x), stack(a, x, inner(x))]


def _of_other_shapes(x: Any, y: Any) -> Any:
    a = put(put(reserve(x, 3), 0, x), 2, y * y)
    return [get(a, 0, x) * get(a, 0, x), get(a, 2, y), get(put(a, 1, x), 1, x)]


def _reserved_like_another(x: Any) -> Any:
    return stack(put(reserve(x, 3, _shape_of_rows(x)), 0, x[1] * x[0]), x, inner(x))


got = functools.partial(case, "TensorListGetItem")
put_in = functools.partial(case, "TensorListSetItem")
ITEMS = [
    *kinds("TensorListGetItem", _one_of, (3, 2)),
    *kinds("TensorListSetItem", _replaced, (3, 2), (2,)),
    got("scalars", normal(3), build=_one_of),
    got(
        "fed_index",
        normal(3, 2),
        np.array(2, np.int32),
        build=lambda x, i: get(from_tensor(x * x, inner(x)), i, x, inner(x)),
    ),
    got("unset", normal(2), build=lambda x: get(put(reserve(x, 3, [2]), 0, x * x), 1, x, [2])),
    numeric("TensorListGetItem", "other_shapes", normal(2), normal(3), build=_of_other_shapes),
    numeric("TensorListSetItem", "lengthens", normal(3, 2), normal(2), build=_lengthened),
    put_in(
        "twice",
        normal(3, 2),
        normal(2),
        build=lambda x, y: stack(put(put(squares(x), 1, x[0]), 1, y * y), x),
    ),
    put_in("takes_from_itself", normal(3, 2), build=_replaced_by_its_own),
    case("TensorListReserve", "shape_of_another_list", normal(3, 2), build=_reserved_like_another),
]

# ---- PushBack, PopBack


def _pushed(x: Any, y: Any) -> Any:
    return stack(push(push(squares(x), y * y), y), x)


def _onto_empty(x: Any, y: Any) -> Any:
    return stack(push(push(empty(x, [-1]), x * x), y), x)


def _like_another(x: Any) -> Any:
    return stack(push(empty(x, _shape_of_rows(x)), x[0] * x[1]), x)


def _popped(x: Any) -> Any:
    rest, last = pop(squares(x), x)
    rest, before = pop(rest, x)
    return [stack(rest, x, inner(x)), last * before]


popped = functools.partial(numeric, "TensorListPopBack")
ENDS = [
    *kinds("TensorListPushBack", _pushed, (3, 2), (2,)),
    *kinds("TensorListPopBack", _popped, (3, 2)),
    case("TensorListPushBack", "onto_empty", normal(2), normal(2), build=_onto_empty),
    case("EmptyTensorList", "shape_of_another_list", normal(3, 2), build=_like_another),
    popped("only_element", normal(3, 2), build=lambda x: pop(squares(x), x)[1]),
    popped("only_list", normal(3, 2), build=lambda x: stack(pop(squares(x), x)[0], x)),
    popped(
        "only_element_of_unset",
        normal(2),
        build=lambda x: pop(put(reserve(x, 3, [2]), 2, x * x), x)[1],
    ),
    numeric(
        "TensorListPushBack",
        "list_of_lists",
        normal(3, 2),
        build=lambda x: stack(pop(lists(x), VARIANT)[1], x),
    ),
    numeric(
        "TensorListGetItem",
        "list_of_lists",
        normal(3, 2),
        build=lambda x: stack(get(lists(x), 0, VARIANT), x),
    ),
]

# ---- Resize


def _resized(x: Any, *sizes: int) -> Any:
    return stack(functools.reduce(resize, sizes, squares(x)), x, inner(x))


def resized(name: str, *sizes: int) -> Case:
    return case("TensorListResize", name, normal(3, 2), build=lambda x: _resized(x, *sizes))


RESIZE = [
    *kinds("TensorListResize", lambda x: _resized(x, 2), (3, 2)),
    resized("longer", 5),
    resized("same", 3),
    resized("to_nothing", 0),
    resized("there_and_back", 1, 4),
]

# ---- Chains, and elements without a gradient


def _chain(x: Any, y: Any) -> Any:
    a = from_tensor(x, inner(x))
    a = put(a, 1, get(a, 0, x) * get(a, 1, x))
    a = push(a, y * get(a, 1, x))
    a, last = pop(push(a, get(a, 3, x) * y), x)
    a = resize(a, 6)
    return [stack(a, x, inner(x)), last, gather(a, [3, 1], x, inner(x))]


def _integers(x: Any, i: Any) -> Any:
    """A list of indices goes along; x[j] x[k]."""
    a = put(from_tensor(i), 0, 1)
    a, last = pop(push(a, 2), i)
    rows = stack(a, i)
    first = gather(split(i, longs(1, 1)), [0], i)[0][0]
    return tf.gather(x, rows) * tf.gather(x, last) * tf.gather(x, first)


def _rounded(x: Any) -> Any:
    numbers = from_tensor(tf.cast(x * 3, tf.int32))
    return tf.cast(gather(numbers, [1, 1], tf.constant(0)), tf.float64)


NO_GRADIENT = {"no_gradient": True, "second_order": None}
CHAINS = [
    case("TensorListPushBack", "chain", normal(3, 2), normal(2), build=_chain),
    case("TensorListPushBack", "chain_float", single(3, 2), single(2), build=_chain),
    case("TensorListGather", "integers", normal(3), ints(0, 2), build=_integers),
    case("TensorListGather", "integers_of_numbers", normal(3), build=_rounded, **NO_GRADIENT),
]

# ---- ConcatLists


def _concat_lists(x: Any, y: Any, shape: Any = UNKNOWN) -> Any:
    a, b = squares(x, shape), from_tensor(y * x[0], shape)
    return call("TensorListConcatLists", a, b, element_dtype=x.dtype)


def _both(x: Any, y: Any) -> Any:
    return tf.square(stack(_concat_lists(x, y), x))


def _of_both(x: Any, y: Any) -> Any:
    return get(_concat_lists(x, y, [3]), 1, x, [3]) ** 2


joined = functools.partial(numeric, "TensorListConcatLists", build=_both)
CONCAT_LISTS = [
    joined("rows", normal(2, 3), normal(4, 3)),
    joined("scalars_known_shapes", normal(3), normal(2), known_shapes=True),
    joined("complex", complex_normal(2, 2), complex_normal(1, 2)),
    joined("element_shape", normal(2, 3), normal(2, 3, seed=1), build=_of_both),
    joined("second_empty", normal(2, 3), normal(0, 3, seed=1), build=_of_both),
]

CASES = [*STACK, *ITEMS, *ENDS, *RESIZE, *CHAINS, *CONCAT_LISTS]
