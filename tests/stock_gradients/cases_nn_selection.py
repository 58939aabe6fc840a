# SPDX-License-Identifier: Apache-2.0
"""Gradients of ops that select or pool elements by their order."""

import functools
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from fed_kernels import fed, outputs_are_fed
from old_ops import of_version
from parity import Case
from random_values import distinct, normal
from rows import case, numeric
from tensorflow.python.framework import op_def_library
from tensorflow.python.framework.ops import gradient_registry

single = functools.partial(distinct, dtype=np.float32)
half = functools.partial(distinct, dtype=np.float16)
TIES = np.array([[1.0, 2.0, 2.0, 0.0, 2.0], [3.0, 3.0, 3.0, 3.0, 3.0]])


def values(y: Any, *_: Any) -> Any:
    return y


def best(x: np.ndarray, k: int, axis: int = -1, largest: bool = True) -> dict[str, np.ndarray]:
    """The best along an axis and their places, as the outputs of a node "top"."""
    order = np.argsort(-x if largest else x, axis=axis, kind="stable")
    indices = np.take(order, np.arange(k), axis)
    return {"top:0": np.take_along_axis(x, indices, axis), "top:1": indices.astype(np.int32)}


# ---- TopK: of graphs older than version 7, without a kernel


@tf.RegisterGradient("TopKWithoutK")
def _top_k_without_k(op: tf.Operation, *upstream: tf.Tensor) -> tf.Tensor:
    """Python's gradient of TopK fails: it also returns one by an input k."""
    return gradient_registry.lookup("TopK")(op, *upstream)[0]


def top_k(name: str, x: np.ndarray, k: int, **how: Any) -> Case:
    build = of_version(6, fed("TopK", "TopKWithoutK"))
    how = {"build": build, "then": values, "k": k, "name": "top", **how}
    return case("TopK", name, x, also_fed=best(x, k), **how)


top_k_v2 = functools.partial(case, "TopKV2", then=values)
TOP_K = [
    top_k("vector", distinct(6), 2),
    top_k("volume_unsorted", distinct(2, 3, 5), 3, sorted=False),
    top_k("ties", TIES, 2),
    top_k("all", single(2, 4), 4),
    top_k_v2("vector", distinct(6), k=2),
    top_k_v2("matrix", distinct(3, 5), k=2),
    top_k_v2("volume_unsorted", distinct(2, 3, 5), k=3, sorted=False),
    top_k_v2("ties", TIES, k=2),
    top_k_v2("none", distinct(2, 4), k=0),
    top_k_v2("empty_batch", normal(0, 4), k=2),
    top_k_v2("float", single(3, 5), k=2),
    top_k_v2("half", half(3, 5), k=2),
    top_k_v2("bfloat16", distinct(3, 5, dtype=ml_dtypes.bfloat16), k=2),
    top_k_v2("int64_k", distinct(3, 5), k=np.int64(2)),
    # Python adds int32 to the indices, whatever their type.
    *(
        numeric("TopKV2", f"{dtype.name}_index", distinct(3, 5), k=2, then=values, index_type=dtype)
        for dtype in (tf.int64, tf.int16)
    ),
]

# ---- ApproxTopK: TensorFlow has CPU kernels for the largest along the last axis: other
# outputs are fed. Its own gradient wants static shapes.


def approximate(name: str, x: np.ndarray, k: int, axis: int = -1, is_max_k: bool = True) -> Case:
    how: dict[str, Any] = {"k": k, "reduction_dimension": axis, "is_max_k": is_max_k, "name": "top"}
    if not (is_max_k and axis == -1):
        how |= {"build": fed("ApproxTopK"), "also_fed": best(x, k, axis, is_max_k)}
    return case("ApproxTopK", name, x, then=lambda y, _: y * y, known_shapes=True, **how)


APPROXIMATE = [
    approximate("vector", single(6), 2),
    approximate("last_axis", single(2, 3, 5), 3),
    approximate("first_axis", single(5, 2, 3), 2, axis=0),
    approximate("middle_axis", single(2, 5, 3), 2, axis=1),
    approximate("axis_from_the_back", single(2, 5, 3), 2, axis=-2),
    approximate("smallest", single(3, 4), 1, is_max_k=False),
    approximate("half", half(3, 4), 4),
]

# ---- NthElement, KthOrderStatistic

STATISTIC = "KthOrderStatistic"
nth = functools.partial(case, "NthElement")


@tf.RegisterGradient("NthElementWithoutN")
def _nth_element_without_n(op: tf.Operation, upstream: tf.Tensor) -> tf.Tensor:
    return gradient_registry.lookup("NthElement")(op, upstream)[0]


def _order_statistic(x: Any, k: int) -> Any:
    graph = tf.compat.v1.get_default_graph()
    override = graph.gradient_override_map({STATISTIC: "NthElementWithoutN"})
    with override, outputs_are_fed(STATISTIC):
        return op_def_library.apply_op(STATISTIC, input=x, k=k, name="fed")


def order_statistic(name: str, x: np.ndarray, k: int, **more: Any) -> Case:
    """It has kernels for TPUs only: outputs are fed. Python's gradient is that of
    NthElement.
    """
    fed_values = {"fed:0": np.sort(x)[..., -k]}
    return case(STATISTIC, name, x, build=_order_statistic, k=k, also_fed=fed_values, **more)


STATISTICS = [
    nth("vector", distinct(6), n=2),
    nth("matrix", distinct(3, 5), n=1),
    nth("reverse", distinct(2, 3, 5), n=1, reverse=True),
    nth("ties", TIES, n=2),
    nth("float_known_shapes", single(3, 5), n=1, known_shapes=True),
    nth("half", half(3, 5), n=1),
    nth("empty_batch", normal(0, 4), n=2),
    nth("numeric", distinct(3, 5), n=3, reference="numeric", second_order="numeric"),
    order_statistic("matrix", single(3, 5), 2),
    order_statistic("ties", TIES.astype(np.float32), 2, known_shapes=True),
    order_statistic("unknown_rank", single(3, 5), 4, known_shapes="rank"),
]

# ---- IsotonicRegression


def isotonic(name: str, x: np.ndarray, row: Any = case, **more: Any) -> Case:
    return row("IsotonicRegression", name, x, output_dtype=x.dtype, then=values, **more)


regression = functools.partial(isotonic, known_shapes=True)
ISOTONIC = [
    regression("matrix", normal(3, 6)),
    regression("float", normal(3, 6, dtype=np.float32)),
    regression("decreasing", np.sort(normal(2, 5))[:, ::-1].copy()),
    regression("increasing", np.sort(normal(2, 5))),
    regression("one_row", normal(1, 7)),
    # Python asks for a known shape.
    isotonic("unknown_shape", normal(3, 6), numeric),
    isotonic("empty", normal(0, 4), numeric),
    regression("half", half(2, 5)),
]

CASES = [*TOP_K, *APPROXIMATE, *STATISTICS, *ISOTONIC]
