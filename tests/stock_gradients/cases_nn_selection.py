# SPDX-License-Identifier: Apache-2.0
"""Gradients of ops that select or pool elements by their order."""

from contextlib import nullcontext
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from fed_kernels import outputs_are_fed
from parity import Case
from random_values import distinct, normal
from tensorflow.python.framework import op_def_library
from tensorflow.python.framework.ops import gradient_registry

raw = tf.raw_ops


@tf.RegisterGradient("TopKWithoutK")
def _top_k_without_k(op: tf.Operation, *upstream: tf.Tensor) -> tf.Tensor:
    """Python's gradient of TopK fails: it also returns one by an input k."""
    return gradient_registry.lookup("TopK")(op, *upstream)[0]


def _top_k(name: str, x: np.ndarray, k: int, **attributes: Any) -> Case:
    """An op of graphs older than version 7; it has no kernel: outputs are fed."""

    def build(x: Any) -> Any:
        tf.import_graph_def(tf.compat.v1.GraphDef(versions={"producer": 6}))
        graph = tf.compat.v1.get_default_graph()
        override = graph.gradient_override_map({"TopK": "TopKWithoutK"})
        with override, outputs_are_fed("TopK"):
            return raw.TopK(input=x, k=k, name="top", **attributes)[0]

    indices = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    values = np.take_along_axis(x, indices, -1)
    return Case(
        "TopK", name, build, [x], also_fed={"top:0": values, "top:1": indices.astype(np.int32)}
    )


def _top_k_v2(
    name: str, x: np.ndarray, k: Any, reference: str = "python", **attributes: Any
) -> Case:
    return Case(
        "TopKV2",
        name,
        lambda x: raw.TopKV2(input=x, k=k, **attributes)[0],
        [x],
        reference=reference,
        second_order=reference,
    )


def _nth(name: str, x: np.ndarray, n: int, reverse: bool = False, **more: Any) -> Case:
    return Case(
        "NthElement", name, lambda x: raw.NthElement(input=x, n=n, reverse=reverse), [x], **more
    )


def _isotonic(name: str, x: np.ndarray, **more: Any) -> Case:
    """Python asks for a known shape."""
    return Case(
        "IsotonicRegression",
        name,
        lambda x: raw.IsotonicRegression(input=x, output_dtype=tf.as_dtype(x.dtype))[0],
        [x],
        **{"known_shapes": True, **more},
    )


TIES = np.array([[1.0, 2.0, 2.0, 0.0, 2.0], [3.0, 3.0, 3.0, 3.0, 3.0]])


def _approximate(name: str, x: np.ndarray, k: int, axis: int = -1, is_max_k: bool = True) -> Case:
    """TensorFlow has CPU kernels for the largest along the last axis: others are fed.

    Its own gradient wants static shapes.
    """
    has_kernel = is_max_k and axis == -1

    def build(x: Any) -> Any:
        with nullcontext() if has_kernel else outputs_are_fed("ApproxTopK"):
            values, _ = raw.ApproxTopK(
                input=x, k=k, reduction_dimension=axis, is_max_k=is_max_k, name="top"
            )
        return values * values

    indices = np.argsort(-x if is_max_k else x, axis=axis, kind="stable")
    indices = np.take(indices, np.arange(k), axis)
    fed = {"top:0": np.take_along_axis(x, indices, axis), "top:1": indices.astype(np.int32)}
    return Case(
        "ApproxTopK", name, build, [x], known_shapes=True, also_fed={} if has_kernel else fed
    )


@tf.RegisterGradient("NthElementWithoutN")
def _nth_element_without_n(op: tf.Operation, upstream: tf.Tensor) -> tf.Tensor:
    return gradient_registry.lookup("NthElement")(op, upstream)[0]


def _order_statistic(name: str, x: np.ndarray, k: int, **more: Any) -> Case:
    """It has kernels for TPUs only: outputs are fed. Python's gradient is that of
    NthElement."""
    op = "KthOrderStatistic"

    def build(x: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        override = graph.gradient_override_map({op: "NthElementWithoutN"})
        with override, outputs_are_fed(op):
            return op_def_library.apply_op(op, input=x, k=k, name="fed")

    fed = {"fed:0": np.sort(x)[..., -k]}
    return Case(op, name, build, [x.astype(np.float32)], also_fed=fed, **more)


def single(*shape: int) -> np.ndarray:
    return distinct(*shape, dtype=np.float32)


APPROXIMATE = [
    _approximate("vector", single(6), 2),
    _approximate("last_axis", single(2, 3, 5), 3),
    _approximate("first_axis", single(5, 2, 3), 2, axis=0),
    _approximate("middle_axis", single(2, 5, 3), 2, axis=1),
    _approximate("axis_from_the_back", single(2, 5, 3), 2, axis=-2),
    _approximate("smallest", single(3, 4), 1, is_max_k=False),
    _approximate("half", distinct(3, 4, dtype=np.float16), 4),
]

CASES = [
    *APPROXIMATE,
    _top_k("vector", distinct(6), 2),
    _top_k("volume_unsorted", distinct(2, 3, 5), 3, sorted=False),
    _top_k("ties", TIES, 2),
    _top_k("all", distinct(2, 4, dtype=np.float32), 4),
    _top_k_v2("vector", distinct(6), 2),
    _top_k_v2("matrix", distinct(3, 5), 2),
    _top_k_v2("volume_unsorted", distinct(2, 3, 5), 3, sorted=False),
    _top_k_v2("ties", TIES, 2),
    _top_k_v2("none", distinct(2, 4), 0),
    _top_k_v2("empty_batch", normal(0, 4), 2),
    _top_k_v2("float", distinct(3, 5, dtype=np.float32), 2),
    _top_k_v2("half", distinct(3, 5, dtype=np.float16), 2),
    _top_k_v2("bfloat16", distinct(3, 5, dtype=ml_dtypes.bfloat16), 2),
    _top_k_v2("int64_k", distinct(3, 5), np.int64(2)),
    # Python adds int32 to the indices, whatever their type.
    _top_k_v2("int64_index", distinct(3, 5), 2, "numeric", index_type=tf.int64),
    _top_k_v2("int16_index", distinct(3, 5), 2, "numeric", index_type=tf.int16),
    _nth("vector", distinct(6), 2),
    _nth("matrix", distinct(3, 5), 1),
    _nth("reverse", distinct(2, 3, 5), 1, reverse=True),
    _nth("ties", TIES, 2),
    _nth("float_known_shapes", distinct(3, 5, dtype=np.float32), 1, known_shapes=True),
    _nth("half", distinct(3, 5, dtype=np.float16), 1),
    _nth("empty_batch", normal(0, 4), 2),
    _nth("numeric", distinct(3, 5), 3, reference="numeric", second_order="numeric"),
    _isotonic("matrix", normal(3, 6)),
    _isotonic("float", normal(3, 6, dtype=np.float32)),
    _isotonic("decreasing", np.sort(normal(2, 5))[:, ::-1].copy()),
    _isotonic("increasing", np.sort(normal(2, 5))),
    _isotonic("one_row", normal(1, 7)),
    _isotonic(
        "unknown_shape",
        normal(3, 6),
        known_shapes=False,
        reference="numeric",
        second_order="numeric",
    ),
    _isotonic(
        "empty", normal(0, 4), known_shapes=False, reference="numeric", second_order="numeric"
    ),
    _isotonic("half", distinct(2, 5, dtype=np.float16)),
    _order_statistic("matrix", single(3, 5), 2),
    _order_statistic("ties", TIES.astype(np.float32), 2, known_shapes=True),
    _order_statistic("unknown_rank", single(3, 5), 4, known_shapes="rank"),
]
