"""Ops that run only on XLA's devices: XlaEinsum, SegmentSumV2 and similar ones."""

import functools
import os
from typing import Any

import numpy as np
import tensorflow as tf
from old_ops import with_gradient
from parity import Case
from random_values import complex_normal, distinct, single
from rows import call, case, each, ints, numeric

# Read when the first session starts, here and in the client's process.
os.environ["TF_XLA_FLAGS"] = os.environ.get("TF_XLA_FLAGS", "") + " --tf_xla_enable_xla_devices"


@tf.RegisterGradient("EinsumInPlaceOfXlaEinsum")
def _einsum_gradient(op: Any, dy: Any) -> list[Any]:
    """The reference for cases where Python's gradient of XlaEinsum is wrong.

    Python neither conjugates nor sums over broadcast axes.
    """
    with tf.device("/device:CPU:0"):
        inputs = list(op.inputs)
        result = tf.raw_ops.Einsum(inputs=inputs, equation=op.get_attr("equation"))
        return tf.gradients(result, inputs, dy)


def _on_xla(op: str, *inputs: Any, **attributes: Any) -> Any:
    with tf.device("/device:XLA_CPU:0"):
        return call(op, *inputs, **attributes)


# Rows that belong to a segment, or to none because of a negative id or one beyond the segments.
IDS = ints(-1, 0, 0, 1, 2, 2, 3)
ROWS = distinct(7, 2)


def _segments(op: str) -> list[Case]:
    build = functools.partial(_on_xla, op, num_segments=3)
    row = functools.partial(numeric, op, build=build, static="all")
    zero = ROWS.copy()
    zero[[1, 3], 0] = 0
    return [
        row("matrix", ROWS, IDS),
        row("vector_int64", ROWS[:, 0], IDS.astype(np.int64)),
        row("one_zero", zero, IDS),
    ]


def _sums(op: str) -> list[Case]:
    """Differences omit the extrema of segments without rows, which are too large."""
    build = functools.partial(_on_xla, op, num_segments=3)
    row = functools.partial(numeric, op, build=build, static="all")
    return [
        row("complex", complex_normal(7, 2), IDS),
        row("missing_segment", ROWS, np.where(IDS == 1, 0, IDS)),
        row("no_rows", ROWS[:0], IDS[:0]),
    ]


_einsum = functools.partial(_on_xla, "XlaEinsum")
einsum = functools.partial(case, "XlaEinsum", build=_einsum)
overridden = functools.partial(
    einsum, build=with_gradient("XlaEinsum", "EinsumInPlaceOfXlaEinsum", _einsum)
)
once = functools.partial(overridden, second_order=None)
COMPLEX = [complex_normal(*shape, dtype=np.complex64) for shape in ((2, 3), (3, 4))]

CASES = [
    *each("SegmentMaxV2 SegmentMinV2 SegmentProdV2 SegmentSumV2", _segments),
    *each("SegmentProdV2 SegmentSumV2", _sums),
    einsum("matmul", single(2, 3), single(3, 4), equation="ij,jk->ik"),
    einsum("batch_static", single(2, 2, 3), single(2, 4, 3), equation="bij,bkj->bki", static="all"),
    einsum("outer", single(2), single(3, 4), equation="i,jk->kij"),
    overridden("complex", *COMPLEX, equation="ij,jk->ik"),
    einsum("ellipsis", single(2, 2, 3), single(2, 3, 4), equation="...ij,...jk->...ik"),
    once("broadcast", single(1, 2, 3), single(2, 3, 4), equation="...ij,...jk->...ik"),
    overridden("summed_label", single(2, 3), single(3, 4), equation="ij,jk->k"),
    once("ellipsis_behind", single(2, 3), single(2, 3), equation="i...,...->i..."),
    overridden("diagonal", single(2, 2), single(2, 4), equation="ii,ij->j"),
    overridden("diagonals", single(2, 3, 2), single(3, 2, 2), equation="iji,jkk->ki"),
    overridden("trace", single(2, 2), single(3), equation="ii,j->j"),
    overridden("set_diagonal", single(2, 3), single(3), equation="ij,j->iji"),
]
