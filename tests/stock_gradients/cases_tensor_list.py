# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors: every case makes a list and ends in tensors again.

Central differences are the reference where Python's gradient fails: on lists of
other lengths or shapes than it makes.
"""

from collections.abc import Callable
from typing import Any

import differences
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal
from tensor_lists import (
    UNKNOWN,
    VARIANT,
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
    resize,
    split,
    stack,
)

raw = tf.raw_ops

# ---- Stack, FromTensor


def squares(x: Any) -> Any:
    return stack(from_tensor(x * x), x)


STACK = [
    *kinds("TensorListStack", squares, [(3, 2)]),
    *kinds("TensorListFromTensor", squares, [(2, 3, 2)]),
    Case(
        "TensorListStack",
        "number_and_shape",
        lambda x: stack(from_tensor(x * x, [-1, 2]), x, [2, 2], 3),
        [normal(3, 2, 2)],
    ),
    Case(
        "TensorListStack",
        "scalars_int64_shape",
        lambda x: stack(from_tensor(x * x, tf.zeros([0], tf.int64)), x, ints()),
        [normal(4)],
    ),
    Case(
        "TensorListFromTensor",
        "empty",
        lambda x: stack(from_tensor(x * x, [2]), x, [2]),
        [normal(0, 2)],
    ),
    Case(
        "TensorListFromTensor",
        "two_ways",
        lambda x: (lambda a: [stack(a, x), get(a, 1, x), get(a, 1, x)])(from_tensor(x * x)),
        [normal(3, 2)],
    ),
    # The element that was taken off has another shape than those stacked.
    numeric(
        "TensorListStack",
        "rest_of_other_shapes",
        lambda x, y: (lambda a, b: [stack(a, x), b * b])(*pop(push(from_tensor(x * x), y), y)),
        [normal(3, 2), normal(4)],
    ),
]

# ---- GetItem, SetItem


def shape_of_rows(x: Any) -> Any:
    """The element shape of another list."""
    return raw.TensorListElementShape(input_handle=from_tensor(x, inner(x)), shape_type=tf.int32)


def one_of(x: Any) -> Any:
    a = from_tensor(x * x)
    return get(a, 1, x) * get(a, 0, x)


def replaced(x: Any, y: Any) -> Any:
    return stack(put(from_tensor(x * x), 1, y * y), x)


def lengthened(x: Any, y: Any) -> Any:
    a = put(from_tensor(x * x), 4, y * y, resize=True)
    return [get(a, 4, x), get(a, 0, x), stack(a, x, inner(x))]


def of_other_shapes(x: Any, y: Any) -> Any:
    a = put(put(reserve(x, 3), 0, x), 2, y * y)
    return [get(a, 0, x) * get(a, 0, x), get(a, 2, y), get(put(a, 1, x), 1, x)]


ITEMS = [
    *kinds("TensorListGetItem", one_of, [(3, 2)]),
    *kinds("TensorListSetItem", replaced, [(3, 2), (2,)]),
    Case("TensorListGetItem", "scalars", one_of, [normal(3)]),
    Case(
        "TensorListGetItem",
        "fed_index",
        lambda x, i: get(from_tensor(x * x, inner(x)), i, x, inner(x)),
        [normal(3, 2), np.array(2, np.int32)],
    ),
    Case(
        "TensorListGetItem",
        "unset",
        lambda x: get(put(reserve(x, 3, [2]), 0, x * x), 1, x, [2]),
        [normal(2)],
    ),
    numeric("TensorListGetItem", "other_shapes", of_other_shapes, [normal(2), normal(3)]),
    numeric("TensorListSetItem", "lengthens", lengthened, [normal(3, 2), normal(2)]),
    Case(
        "TensorListSetItem",
        "twice",
        lambda x, y: stack(put(put(from_tensor(x * x), 1, x[0]), 1, y * y), x),
        [normal(3, 2), normal(2)],
    ),
    Case(
        "TensorListSetItem",
        "takes_from_itself",
        lambda x: (lambda a: stack(put(a, 1, get(a, 0, x) * get(a, 2, x)), x))(from_tensor(x)),
        [normal(3, 2)],
    ),
    Case(
        "TensorListReserve",
        "shape_of_another_list",
        lambda x: stack(put(reserve(x, 3, shape_of_rows(x)), 0, x[1] * x[0]), x, inner(x)),
        [normal(3, 2)],
    ),
]

# ---- PushBack, PopBack


def pushed(x: Any, y: Any) -> Any:
    return stack(push(push(from_tensor(x * x), y * y), y), x)


def popped(x: Any) -> Any:
    rest, last = pop(from_tensor(x * x), x)
    rest, before = pop(rest, x)
    return [stack(rest, x, inner(x)), last * before]


def only_popped(x: Any) -> Any:
    return pop(from_tensor(x * x), x)[1]


ENDS = [
    *kinds("TensorListPushBack", pushed, [(3, 2), (2,)]),
    *kinds("TensorListPopBack", popped, [(3, 2)]),
    Case(
        "TensorListPushBack",
        "onto_empty",
        lambda x, y: stack(push(push(empty(x, [-1]), x * x), y), x),
        [normal(2), normal(2)],
    ),
    Case(
        "EmptyTensorList",
        "shape_of_another_list",
        lambda x: stack(push(empty(x, shape_of_rows(x)), x[0] * x[1]), x),
        [normal(3, 2)],
    ),
    numeric("TensorListPopBack", "only_element", only_popped, [normal(3, 2)]),
    numeric(
        "TensorListPopBack",
        "only_list",
        lambda x: stack(pop(from_tensor(x * x), x)[0], x),
        [normal(3, 2)],
    ),
    numeric(
        "TensorListPopBack",
        "only_element_of_unset",
        lambda x: pop(put(reserve(x, 3, [2]), 2, x * x), x)[1],
        [normal(2)],
    ),
    *(
        numeric(op, "list_of_lists", lambda x, take=take: stack(take(lists(x)), x), [normal(3, 2)])
        for op, take in {
            "TensorListPushBack": lambda a: pop(a, VARIANT)[1],
            "TensorListGetItem": lambda a: get(a, 0, VARIANT),
        }.items()
    ),
]

# ---- Resize


def resized(size: int) -> Callable[..., Any]:
    return lambda x: stack(resize(from_tensor(x * x), size), x, inner(x))


RESIZE = [
    *kinds("TensorListResize", resized(2), [(3, 2)]),
    *(
        Case("TensorListResize", name, resized(size), [normal(3, 2)])
        for name, size in {"longer": 5, "same": 3, "to_nothing": 0}.items()
    ),
    Case(
        "TensorListResize",
        "there_and_back",
        lambda x: stack(resize(resize(from_tensor(x * x), 1), 4), x, inner(x)),
        [normal(3, 2)],
    ),
]

# ---- Chains, and elements without a gradient


def chain(x: Any, y: Any) -> Any:
    a = from_tensor(x, inner(x))
    a = put(a, 1, get(a, 0, x) * get(a, 1, x))
    a = push(a, y * get(a, 1, x))
    a, last = pop(push(a, get(a, 3, x) * y), x)
    a = resize(a, 6)
    return [stack(a, x, inner(x)), last, gather(a, [3, 1], x, inner(x))]


def integers(x: Any, i: Any) -> Any:
    """A list of indices goes along; x[j] x[k]."""
    a = put(from_tensor(i), 0, 1)
    a, last = pop(push(a, 2), i)
    rows = stack(a, i)
    first = gather(split(i, np.array([1, 1])), [0], i)[0][0]
    return tf.gather(x, rows) * tf.gather(x, last) * tf.gather(x, first)


CHAINS = [
    *(
        Case("TensorListPushBack", name, chain, [normal(3, 2, dtype=dtype), normal(2, dtype=dtype)])
        for name, dtype in {"chain": np.float64, "chain_float": np.float32}.items()
    ),
    Case("TensorListGather", "integers", integers, [normal(3), ints(0, 2)]),
    Case(
        "TensorListGather",
        "integers_of_numbers",
        lambda x: tf.cast(
            gather(from_tensor(tf.cast(x * 3, tf.int32)), [1, 1], tf.constant(0)), tf.float64
        ),
        [normal(3)],
        no_gradient=True,
        second_order=None,
    ),
]

# ---- ConcatLists


def concat(x: Any, y: Any, shape: Any = UNKNOWN) -> Any:
    return raw.TensorListConcatLists(
        input_a=from_tensor(x * x, shape),
        input_b=from_tensor(y * x[0], shape),
        element_dtype=x.dtype,
    )


CONCAT_LISTS = [
    differences.numeric(
        "TensorListConcatLists",
        name,
        lambda x, y: tf.square(stack(concat(x, y), x)),
        inputs,
        **more,
    )
    for name, inputs, more in (
        ("rows", [normal(2, 3), normal(4, 3)], {}),
        ("scalars_known_shapes", [normal(3), normal(2)], {"known_shapes": True}),
        ("complex", [complex_normal(2, 2), complex_normal(1, 2)], {}),
    )
]
CONCAT_LISTS += [
    differences.numeric(
        "TensorListConcatLists",
        name,
        lambda x, y: get(concat(x, y, [3]), 1, x, [3]) ** 2,
        [normal(2, 3), normal(count, 3, seed=1)],
    )
    for name, count in (("element_shape", 2), ("second_empty", 0))
]

CASES = [*STACK, *ITEMS, *ENDS, *RESIZE, *CHAINS, *CONCAT_LISTS]
