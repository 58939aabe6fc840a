# SPDX-License-Identifier: Apache-2.0
"""Gradients of losses."""

from typing import Any

import numpy as np
import tensorflow as tf
from fed_kernels import outputs_are_fed
from parity import Case
from random_values import normal

raw = tf.raw_ops


def _sparse_softmax(
    name: str,
    outputs: tuple[int, ...] = (0,),
    dtype: Any = np.float64,
    labels: Any = np.int64,
    **more: Any,
) -> Case:
    """`outputs`: the loss, and its gradient, which the op computes beside it."""

    def build(logits: Any, labels: Any) -> Any:
        results = raw.SparseSoftmaxCrossEntropyWithLogits(features=logits, labels=labels)
        return [results[i] for i in outputs]

    return Case(
        "SparseSoftmaxCrossEntropyWithLogits",
        name,
        build,
        [normal(4, 5, dtype=dtype), np.array([0, 4, 2, 2], labels)],
        **more,
    )


# Two sequences of up to 6 steps over 4 classes; the last class is the blank of
# CTCLoss, the first that of CTCLossV2.
CTC_INDICES = np.array([[0, 0], [0, 1], [0, 2], [1, 0]], np.int64)
CTC_LENGTHS = np.array([6, 4], np.int32)


def _ctc(
    name: str,
    dtype: Any = np.float32,
    values: tuple[int, ...] = (1, 2, 1, 2),
    lengths: np.ndarray = CTC_LENGTHS,
    error: str | None = None,
    **attributes: Any,
) -> Case:
    def build(logits: Any) -> Any:
        return raw.CTCLoss(
            inputs=logits,
            labels_indices=CTC_INDICES,
            labels_values=values,
            sequence_length=lengths,
            **attributes,
        )[0]

    return Case(
        "CTCLoss",
        name,
        build,
        [normal(6, 2, 4, dtype=dtype)],
        second_order=None if error is None else "python",
        error=error,
    )


def _ctc_v2(name: str, batch: int = 2, error: str | None = None, **attributes: Any) -> Case:
    """There is no kernel for the CPU: its outputs are fed."""
    indices = np.array([[i, 0] for i in range(batch)], np.int64).reshape(batch, 2)

    def build(logits: Any) -> Any:
        with outputs_are_fed("CTCLossV2"):
            return raw.CTCLossV2(
                inputs=logits,
                labels_indices=indices,
                labels_values=np.ones(batch, np.int32),
                sequence_length=np.full(batch, 6, np.int32),
                name="ctc",
                **attributes,
            )[0]

    return Case(
        "CTCLossV2",
        name,
        build,
        [normal(6, batch, 4, dtype=np.float32)],
        second_order=None if error is None else "python",
        error=error,
        also_fed={
            "ctc:0": normal(batch, dtype=np.float32),
            "ctc:1": normal(6, batch, 4, dtype=np.float32, seed=1),
        },
    )


CASES = [
    _sparse_softmax("double"),
    _sparse_softmax("float_int32_labels", dtype=np.float32, labels=np.int32),
    _sparse_softmax("half", dtype=np.float16),
    _sparse_softmax("known_shapes", known_shapes=True),
    _sparse_softmax("its_gradient", outputs=(1,)),
    _sparse_softmax("both", outputs=(0, 1)),
    _sparse_softmax("both_numeric", outputs=(0, 1), reference="numeric", second_order="numeric"),
    Case(
        "SparseSoftmaxCrossEntropyWithLogits",
        "by_tf_nn",
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[1, 2], [0, 0]], logits=x),
        [normal(2, 2, 3)],
    ),
    _ctc("float"),
    _ctc("double", dtype=np.float64),
    _ctc("collapse_repeated", values=(1, 1, 2, 0), preprocess_collapse_repeated=True),
    _ctc("unmerged", ctc_merge_repeated=False),
    _ctc(
        "labels_too_long",
        lengths=np.array([2, 4], np.int32),
        ignore_longer_outputs_than_inputs=True,
    ),
    # Python refuses to differentiate twice, and so do we.
    _ctc("twice", error="no second derivative"),
    _ctc_v2("batch_of_2"),
    _ctc_v2("batch_of_1_unmerged", 1, ctc_merge_repeated=False),
    _ctc_v2("empty_batch", 0),
    _ctc_v2("twice", error="no second derivative"),
]
