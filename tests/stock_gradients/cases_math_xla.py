# SPDX-License-Identifier: Apache-2.0
"""Ops that only XLA's devices run: XlaEinsum, SegmentSumV2 and its kind."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, distinct, normal
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

# Read when the first session begins, here and in the client's process.
os.environ["TF_XLA_FLAGS"] = os.environ.get("TF_XLA_FLAGS", "") + " --tf_xla_enable_xla_devices"

OP = "XlaEinsum"


@tf.RegisterGradient("EinsumInPlaceOfXlaEinsum")
def _einsum_gradient(op: Any, dy: Any) -> list[Any]:
    """The reference where Python's gradient of XlaEinsum is wrong.

    It neither conjugates nor sums over axes that were broadcast.
    """
    with tf.device("/device:CPU:0"):
        inputs = list(op.inputs)
        result = tf.raw_ops.Einsum(inputs=inputs, equation=op.get_attr("equation"))
        return tf.gradients(result, inputs, dy)


def _product(equation: str, override: bool = False) -> Callable[..., Any]:
    def build(a: Any, b: Any) -> Any:
        overrides = {OP: "EinsumInPlaceOfXlaEinsum"} if override else {}
        graph = tf.compat.v1.get_default_graph()
        with tf.device("/device:XLA_CPU:0"), graph.gradient_override_map(overrides):
            return gen_xla_ops.xla_einsum(a=a, b=b, equation=equation)

    return build


def _float(*shape: int) -> np.ndarray:
    return normal(*shape, dtype=np.float32)


# Rows that belong to a segment and, of a negative id or one beyond the segments, to
# none.
IDS = np.array([-1, 0, 0, 1, 2, 2, 3], np.int32)
ROWS = distinct(7, 2)


def _segments(reduction: str) -> list[Case]:
    op = f"Segment{reduction}V2"

    def build(data: Any, ids: Any, count: int = 3) -> Any:
        with tf.device("/device:XLA_CPU:0"):
            return getattr(tf.raw_ops, op)(data=data, segment_ids=ids, num_segments=count)

    def one(name: str, data: np.ndarray, ids: np.ndarray, **more: Any) -> Case:
        return Case(
            op,
            name,
            build,
            [data, ids],
            reference="numeric",
            second_order="numeric",
            known_shapes=True,
            **more,
        )

    zero = ROWS.copy()
    zero[[1, 3], 0] = 0
    cases = [
        one("matrix", ROWS, IDS),
        one("vector_int64", ROWS[:, 0], IDS.astype(np.int64)),
        one("one_zero", zero, IDS),
    ]
    # Differences see no extrema of segments without rows, which are too large.
    if reduction in ("Sum", "Prod"):
        cases += [
            one("complex", complex_normal(7, 2), IDS),
            one("missing_segment", ROWS, np.where(IDS == 1, 0, IDS)),
            one("no_rows", ROWS[:0], IDS[:0]),
        ]
    return cases


CASES = [
    *(case for kind in ("Max", "Min", "Prod", "Sum") for case in _segments(kind)),
    Case(OP, "matmul", _product("ij,jk->ik"), [_float(2, 3), _float(3, 4)]),
    Case(
        OP,
        "batch_known_shapes",
        _product("bij,bkj->bki"),
        [_float(2, 2, 3), _float(2, 4, 3)],
        known_shapes=True,
    ),
    Case(OP, "outer", _product("i,jk->kij"), [_float(2), _float(3, 4)]),
    Case(
        OP,
        "complex",
        _product("ij,jk->ik", override=True),
        [complex_normal(2, 3, dtype=np.complex64), complex_normal(3, 4, dtype=np.complex64)],
    ),
    Case(OP, "ellipsis", _product("...ij,...jk->...ik"), [_float(2, 2, 3), _float(2, 3, 4)]),
    Case(
        OP,
        "broadcast",
        _product("...ij,...jk->...ik", override=True),
        [_float(1, 2, 3), _float(2, 3, 4)],
        second_order=None,
    ),
    Case(OP, "summed_label", _product("ij,jk->k", override=True), [_float(2, 3), _float(3, 4)]),
    Case(
        OP,
        "ellipsis_behind",
        _product("i...,...->i...", override=True),
        [_float(2, 3), _float(2, 3)],
        second_order=None,
    ),
    *(
        Case(OP, name, _product(equation, override=True), operands)
        for name, equation, operands in (
            ("diagonal", "ii,ij->j", [_float(2, 2), _float(2, 4)]),
            ("diagonals", "iji,jkk->ki", [_float(2, 3, 2), _float(3, 2, 2)]),
            ("trace", "ii,j->j", [_float(2, 2), _float(3)]),
            ("set_diagonal", "ij,j->iji", [_float(2, 3), _float(3)]),
        )
    ),
]
