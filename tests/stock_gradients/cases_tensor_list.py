"""Lists of tensors: every case makes a list and ends with tensors.

Central differences are the reference if Python's gradient fails, on lists of other lengths or
shapes than it makes, or is wrong, for repeated indices.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal, single
from rows import call, case, ints, numeric
from tensor_lists import NO_AXES, UNKNOWN, List, empty, inner, of, of_list, reserve, split


def kinds(op: str, build: Callable[..., Any], *shapes: tuple[int, ...]) -> list[Case]:
    """Cases of one graph in double, float, half and complex."""
    row = functools.partial(case, f"TensorList{op}", build=build)
    doubles = [normal(*shape, seed=k) for k, shape in enumerate(shapes)]
    return [
        row("double", *doubles),
        row("float", *(x.astype(np.float32) for x in doubles)),
        row("half", *(x.astype(np.float16) for x in doubles)),
        row("complex", *(complex_normal(*shape, seed=k) for k, shape in enumerate(shapes))),
        row("known_shapes", *doubles, static="all"),
        row("unknown_rank", *doubles, static="none"),
    ]


def row(op: str, name: str, build: Callable[..., Any], *inputs: Any, **more: Any) -> Case:
    return case(f"TensorList{op}", name, *inputs, build=build, **more)


def differences(op: str, name: str, build: Callable[..., Any], *inputs: Any, **more: Any) -> Case:
    return numeric(f"TensorList{op}", name, *inputs, build=build, **more)


# ---- Stack, FromTensor


def two_ways(x: Any) -> Any:
    a = of(x * x)
    return [a.stack(), a.get(1), a.get(1)]


def of_scalars(x: Any) -> Any:
    return of(x * x, tf.zeros([0], tf.int64)).stack(NO_AXES)


def rest_of_other_shapes(x: Any, y: Any) -> Any:
    """The removed element has another shape than the stacked ones."""
    a, b = of(x * x).push(y).pop()
    return [a.stack(), b * b]


STACK = [
    *kinds("Stack", lambda x: of(x * x).stack(), (3, 2)),
    *kinds("FromTensor", lambda x: of(x * x).stack(), (2, 3, 2)),
    row(
        "Stack", "number_and_shape", lambda x: of(x * x, [-1, 2]).stack([2, 2], 3), normal(3, 2, 2)
    ),
    row("Stack", "scalars_int64_shape", of_scalars, normal(4)),
    row("FromTensor", "empty", lambda x: of(x * x, [2]).stack([2]), normal(0, 2)),
    row("FromTensor", "two_ways", two_ways, normal(3, 2)),
    differences("Stack", "rest_of_other_shapes", rest_of_other_shapes, normal(3, 2), normal(4)),
]

# ---- GetItem, SetItem


def shape_of_rows(x: Any) -> Any:
    """The element shape of another list."""
    return call("TensorListElementShape", of(x, inner(x)).handle, shape_type=tf.int32)


def one_of(x: Any) -> Any:
    a = of(x * x)
    return a.get(1) * a.get(0)


def at_index(x: Any, i: Any) -> Any:
    return of(x * x, inner(x)).get(i, inner(x))


def unset(x: Any) -> Any:
    return reserve(x.dtype, 3, [2]).put(0, x * x).get(1, [2])


def replaced_twice(x: Any, y: Any) -> Any:
    return of(x * x).put(1, x[0]).put(1, y * y).stack()


def replaced_by_its_own(x: Any) -> Any:
    a = of(x)
    return a.put(1, a.get(0) * a.get(2)).stack()


def lengthened(x: Any, y: Any) -> Any:
    a = of(x * x).put(4, y * y, resize=True)
    return [a.get(4), a.get(0), a.stack(inner(x))]


def of_other_shapes(x: Any, y: Any) -> Any:
    a = reserve(x.dtype, 3).put(0, x).put(2, y * y)
    return [a.get(0) * a.get(0), a.get(2), a.put(1, x).get(1)]


def reserved_like_another(x: Any) -> Any:
    return reserve(x.dtype, 3, shape_of_rows(x)).put(0, x[1] * x[0]).stack(inner(x))


ITEMS = [
    *kinds("GetItem", one_of, (3, 2)),
    *kinds("SetItem", lambda x, y: of(x * x).put(1, y * y).stack(), (3, 2), (2,)),
    row("GetItem", "scalars", one_of, normal(3)),
    row("GetItem", "fed_index", at_index, normal(3, 2), np.array(2, np.int32)),
    row("GetItem", "unset", unset, normal(2)),
    differences("GetItem", "other_shapes", of_other_shapes, normal(2), normal(3)),
    differences("SetItem", "lengthens", lengthened, normal(3, 2), normal(2)),
    row("SetItem", "twice", replaced_twice, normal(3, 2), normal(2)),
    row("SetItem", "takes_from_itself", replaced_by_its_own, normal(3, 2)),
    row("Reserve", "shape_of_another_list", reserved_like_another, normal(3, 2)),
]

# ---- PushBack, PopBack, Resize


def pushed_onto_empty(x: Any, y: Any) -> Any:
    return empty(x.dtype, [-1]).push(x * x).push(y).stack()


def popped(x: Any) -> Any:
    rest, last = of(x * x).pop()
    rest, before = rest.pop()
    return [rest.stack(inner(x)), last * before]


def popped_of_unset(x: Any) -> Any:
    return reserve(x.dtype, 3, [2]).put(2, x * x).pop()[1]


def list_popped(x: Any) -> Any:
    return List(of_list(x).pop()[1], x.dtype).stack()


def list_taken(x: Any) -> Any:
    return List(of_list(x).get(0), x.dtype).stack()


def resized(name: str, *sizes: int) -> Case:
    def build(x: Any) -> Any:
        return functools.reduce(List.resize, sizes, of(x * x)).stack(inner(x))

    return row("Resize", name, build, normal(3, 2))


ENDS = [
    *kinds("PushBack", lambda x, y: of(x * x).push(y * y).push(y).stack(), (3, 2), (2,)),
    *kinds("PopBack", popped, (3, 2)),
    row("PushBack", "onto_empty", pushed_onto_empty, normal(2), normal(2)),
    case(
        "EmptyTensorList",
        "shape_of_another_list",
        normal(3, 2),
        build=lambda x: empty(x.dtype, shape_of_rows(x)).push(x[0] * x[1]).stack(),
    ),
    differences("PopBack", "only_element", lambda x: of(x * x).pop()[1], normal(3, 2)),
    differences("PopBack", "only_list", lambda x: of(x * x).pop()[0].stack(), normal(3, 2)),
    differences("PopBack", "only_element_of_unset", popped_of_unset, normal(2)),
    differences("PushBack", "list_of_lists", list_popped, normal(3, 2)),
    differences("GetItem", "list_of_lists", list_taken, normal(3, 2)),
    *kinds("Resize", lambda x: of(x * x).resize(2).stack(inner(x)), (3, 2)),
    resized("longer", 5),
    resized("same", 3),
    resized("to_nothing", 0),
    resized("there_and_back", 1, 4),
]

# ---- Chains, and elements without a gradient


def chain(x: Any, y: Any) -> Any:
    a = of(x, inner(x))
    a = a.put(1, a.get(0) * a.get(1))
    a = a.push(y * a.get(1))
    a, last = a.push(a.get(3) * y).pop()
    a = a.resize(6)
    return [a.stack(inner(x)), last, a.gather([3, 1], inner(x))]


def integers(x: Any, i: Any) -> Any:
    """A list of indices is passed along; x[j] x[k]."""
    a, last = of(i).put(0, 1).push(2).pop()
    rows = a.stack()
    first = split(i, 1, 1).gather([0])[0][0]
    return tf.gather(x, rows) * tf.gather(x, last) * tf.gather(x, first)


def rounded(x: Any) -> Any:
    return tf.cast(of(tf.cast(x * 3, tf.int32)).gather([1, 1]), tf.float64)


NO_GRADIENT = {"no_gradient": True, "second_order": None}
CHAINS = [
    row("PushBack", "chain", chain, normal(3, 2), normal(2)),
    row("PushBack", "chain_float", chain, single(3, 2), single(2)),
    row("Gather", "integers", integers, normal(3), ints(0, 2)),
    row("Gather", "integers_of_numbers", rounded, normal(3), **NO_GRADIENT),
]

# ---- Gather


def gathered(*indices: int) -> Callable[..., Any]:
    return lambda x: of(x * x).gather(list(indices))


def gathered_fed(x: Any, indices: Any) -> Any:
    return of(x * x, inner(x)).gather(indices, inner(x))


def gathered_of_shapes(x: Any, y: Any) -> Any:
    return of(x * x).push(y).gather([2, 0, 2])


def gathered_lists(x: Any) -> Any:
    two = of_list(x).gather([0, 0], NO_AXES)
    return List(of(two, NO_AXES).get(0, NO_AXES), x.dtype).stack()


NOT_SUPPORTED = {"error": "element_dtype=variant is not supported"}
GATHER = [
    *kinds("Gather", gathered(2, 0), (3, 2)),
    differences("Gather", "repeated", gathered(2, 0, 2, 2), normal(3, 2)),
    differences("Gather", "repeated_complex", gathered(1, 1, 0), complex_normal(3, 2)),
    differences("Gather", "repeated_scalars", gathered(1, 3, 1), normal(4)),
    row("Gather", "fed", gathered_fed, normal(3, 2), ints(1, 2)),
    row("Gather", "nothing", gathered_fed, normal(3, 2), ints()),
    differences("Gather", "other_shapes", gathered_of_shapes, normal(3, 2), normal(4)),
    row("Gather", "rows_that_are_lists", gathered_lists, normal(3, 2), **NOT_SUPPORTED),
]

# ---- Scatter


def scattered(x: Any, indices: Any) -> Any:
    handle = call("TensorListScatter", x * x, indices, inner(x))
    return List(handle, x.dtype).stack(inner(x))


def scattered_v2(count: int) -> Callable[..., Any]:
    def build(x: Any, indices: Any) -> Any:
        handle = call("TensorListScatterV2", x * x, indices, inner(x), count)
        return List(handle, x.dtype).stack(inner(x))

    return build


def into(x: Any, y: Any, indices: Any) -> Any:
    return of(x * x).scatter(y * y, indices).stack(inner(x))


def lengthened_by_rows(x: Any, y: Any, indices: Any) -> Any:
    return of(x * x).scatter(y * y, indices).gather(tf.concat([indices, [0]], 0))


def scattered_lists(x: Any) -> Any:
    rows = tf.stack([of(x * x).handle, of(x).handle])
    lists = List(call("TensorListScatterV2", rows, [1, 0], NO_AXES, 2), tf.variant)
    return List(lists.get(0), x.dtype).stack()


def scatter(op: str, build: Callable[..., Any], *lists: np.ndarray) -> list[Case]:
    """`lists`: the list to scatter into, if there is one."""
    x = *lists, normal(3, 2, seed=5)
    complex_x = [value.astype(np.complex128) for value in x]
    return [
        row(op, "double", build, *x, ints(2, 0, 3)),
        row(op, "float", build, *(v.astype(np.float32) for v in x), ints(0, 1, 2)),
        row(op, "half", build, *(v.astype(np.float16) for v in x), ints(1, 0, 2)),
        row(op, "complex", build, *complex_x, ints(3, 0, 1)),
        row(op, "known_shapes", build, *x, ints(1, 0, 2), static="all"),
        row(op, "unknown_rank", build, *x, ints(1, 0, 2), static="none"),
        differences(op, "repeated", build, *x, ints(1, 3, 1)),
        differences(op, "all_the_same", build, *complex_x, ints(0, 0, 0)),
    ]


EXISTING, PAIRS = "ScatterIntoExistingList", (normal(2, 2), normal(2, 2))
SCATTER = [
    *scatter("Scatter", scattered),
    *scatter("ScatterV2", scattered_v2(5)),
    *scatter(EXISTING, into, normal(4, 2)),
    row("Scatter", "nothing", scattered, normal(0, 2), ints()),
    row("Scatter", "scalars", scattered, normal(2), ints(1, 0)),
    differences("Scatter", "repeated_scalars", scattered, normal(3), ints(1, 0, 1)),
    row("ScatterV2", "no_number", scattered_v2(-1), normal(2, 2), ints(3, 1)),
    row("ScatterV2", "rows_that_are_lists", scattered_lists, normal(3, 2), **NOT_SUPPORTED),
    row(EXISTING, "nothing", into, normal(3, 2), normal(0, 2), ints()),
    differences(EXISTING, "lengthens", lengthened_by_rows, *PAIRS, ints(1, 2)),
    differences(EXISTING, "lengthens_with_a_gap", lengthened_by_rows, *PAIRS, ints(1, 3)),
]

# ---- Split, Concat, ConcatLists


def joined(x: Any) -> Any:
    return split(x * x, 2, 0, 1).concat()


def joined_v1(x: Any) -> Any:
    return call("TensorListConcat", split(x * x, 1, 2).handle, element_dtype=x.dtype)[0]


def joined_v1_of_shape(x: Any) -> Any:
    how = {"element_dtype": x.dtype, "element_shape": [None, 2]}
    return call("TensorListConcat", of(x * x, [-1, 2]).handle, **how)[0]


def joined_of_shape(x: Any) -> Any:
    return split(x * x, 2, 1, shape=[-1, 2]).concat([-1, 2])


def joined_popped(x: Any) -> Any:
    a, b = split(x * x, 1, 1, 1).pop()
    return [a.concat(), b * b]


def joined_pushed(x: Any, y: Any) -> Any:
    return empty(x.dtype).push(x * x).push(y * y).concat()


def joined_unset(x: Any) -> Any:
    return reserve(x.dtype, 3, [-1, 2]).put(1, x * x).concat([-1, 2], [2, 3, 1])


def lists(x: Any, y: Any, shape: Any = UNKNOWN) -> List:
    a, b = of(x * x, shape).handle, of(y * x[0], shape).handle
    return List(call("TensorListConcatLists", a, b, element_dtype=x.dtype), x.dtype)


both = functools.partial(differences, "ConcatLists")
JOIN = [
    *kinds("ConcatV2", joined, (3, 2)),
    *kinds("Concat", joined_v1, (3, 2)),
    *kinds("Split", joined, (3, 1, 2)),
    row("Split", "element_shape", joined_of_shape, normal(3, 2)),
    row("Split", "scalars", joined, normal(3)),
    row("Split", "one_piece", lambda x: split(x * x, 2, 0, 1).get(0), normal(3, 2)),
    row("Split", "popped", joined_popped, normal(3, 2)),
    row("ConcatV2", "equal_lengths", lambda x: of(x * x, inner(x)).concat([3, 2]), normal(2, 3, 2)),
    row("ConcatV2", "pushed", joined_pushed, normal(2, 2), normal(3, 2)),
    row("ConcatV2", "leading_dims", joined_unset, normal(3, 2)),
    row("Concat", "element_shape", joined_v1_of_shape, normal(2, 3, 2)),
]
CONCAT_LISTS = [
    both(name, lambda x, y: tf.square(lists(x, y).stack()), *inputs, **more)
    for name, inputs, more in (
        ("rows", [normal(2, 3), normal(4, 3)], {}),
        ("scalars_known_shapes", [normal(3), normal(2)], {"static": "all"}),
        ("complex", [complex_normal(2, 2), complex_normal(1, 2)], {}),
    )
]
CONCAT_LISTS += [
    both(name, lambda x, y: lists(x, y, [3]).get(1, [3]) ** 2, normal(2, 3), y)
    for name, y in (("element_shape", normal(2, 3, seed=1)), ("second_empty", normal(0, 3, seed=1)))
]

CASES = [*STACK, *ITEMS, *ENDS, *CHAINS, *GATHER, *SCATTER, *JOIN, *CONCAT_LISTS]
