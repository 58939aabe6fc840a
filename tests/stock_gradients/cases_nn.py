# SPDX-License-Identifier: Apache-2.0
"""Gradients of activations' gradients and of losses; ops that choose what fits best."""

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from fed_kernels import fed
from parity import Case
from random_values import distinct, normal, single
from rows import case, each, floats, ints, longs, numeric, output

# ---- Activations

# Values on both sides of every kink, and on the kinks.
KINKS = np.array([-7.0, -1.0, -0.25, 0.0, 0.25, 1.0, 5.75, 6.0, 6.25, 40.0])
SMOOTH = np.array([-60.0, -3.0, -0.25, -1e-3, 1e-3, 0.5, 2.0, 6.5, 30.0, 60.0])
MATRICES = normal(3, 4), normal(3, 4, seed=1)
EMPTY = normal(0, 3), normal(0, 3)


def activation(op: str) -> list[Case]:
    x = SMOOTH if op == "SoftplusGrad" else KINKS
    # Further out e^x overflows in Python's softplus''.
    half = [normal(10, dtype=np.float16), x.clip(-9, 9).astype(np.float16)]
    return [
        case(op, "double", normal(10), x),
        case(op, "float_known_shape", *floats(normal(10), x), known_shapes=True),
        case(op, "half", *half),
        case(op, "bfloat16", *(value.astype(ml_dtypes.bfloat16) for value in half)),
        case(op, "matrix_unknown_rank", *MATRICES, known_shapes="rank"),
        case(op, "empty", *EMPTY),
        numeric(op, "numeric", normal(7), normal(7, seed=1)),
    ]


def _chain(op: Callable[..., Any]) -> Callable[..., Any]:
    """The activation's own second derivative, through TensorFlow's gradient."""
    return lambda x: tf.gradients(tf.reduce_sum(op(x) ** 2), x)[0]


def _softplus_grad(x: Any) -> Any:
    return tf.raw_ops.SoftplusGrad(gradients=tf.nn.softplus(x), features=x)


ACTIVATIONS = [
    *each("ReluGrad Relu6Grad EluGrad SeluGrad SoftplusGrad", activation),
    # Python has no gradient of this one.
    numeric("SoftsignGrad", "double", normal(9), SMOOTH[1:]),
    numeric("SoftsignGrad", "matrix", *MATRICES, known_shapes=True),
    numeric("SoftsignGrad", "empty", *EMPTY),
    case("EluGrad", "of_elu", normal(3, 5), build=_chain(tf.nn.elu)),
    case("SeluGrad", "of_selu", normal(3, 5), build=_chain(tf.nn.selu)),
    case("SoftplusGrad", "of_softplus", normal(3, 5), build=_softplus_grad),
]

# ---- LRNGrad: single precision, and Python has no gradient.


def response(name: str, *shape: int, **how: float) -> Case:
    inputs = (single(*shape, seed=seed) for seed in range(3))
    return numeric("LRNGrad", name, *inputs, step=1e-2, tolerance=2e-3, **how)


RESPONSES = [
    response("defaults", 1, 2, 1, 6),
    response("narrow", 2, 1, 2, 4, depth_radius=1, bias=0.8, alpha=0.5, beta=0.7),
    response("wide", 1, 1, 2, 3, depth_radius=9, beta=1.5),
    response("empty", 0, 1, 2, 3),
]

# ---- SparseSoftmaxCrossEntropyWithLogits

LOGITS, LABELS = normal(4, 5), longs(0, 4, 2, 2)


def _by_tf_nn(x: Any) -> Any:
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[1, 2], [0, 0]], logits=x)


cross_entropy = functools.partial(
    case, "SparseSoftmaxCrossEntropyWithLogits", then=lambda loss, gradient: loss
)
# The op computes the loss and its gradient.
CROSS_ENTROPY = [
    cross_entropy("double", LOGITS, LABELS),
    cross_entropy("float_int32_labels", LOGITS.astype(np.float32), LABELS.astype(np.int32)),
    cross_entropy("half", LOGITS.astype(np.float16), LABELS),
    cross_entropy("known_shapes", LOGITS, LABELS, known_shapes=True),
    cross_entropy("its_gradient", LOGITS, LABELS, then=output(1)),
    cross_entropy("both", LOGITS, LABELS, then=None),
    cross_entropy(
        "both_numeric", LOGITS, LABELS, then=None, reference="numeric", second_order="numeric"
    ),
    cross_entropy("by_tf_nn", normal(2, 2, 3), build=_by_tf_nn, then=None),
]

# ---- CTCLoss: two sequences of up to 6 steps over 4 classes; the last class is the
# blank of CTCLoss, the first that of CTCLossV2, which has no kernel for the CPU.

OF_LABELS = {
    "labels_indices": longs([0, 0], [0, 1], [0, 2], [1, 0]),
    "labels_values": (1, 2, 1, 2),
    "sequence_length": ints(6, 4),
}
# Python refuses to differentiate twice, and so do we.
TWICE: dict[str, Any] = {"second_order": "python", "error": "no second derivative"}


def ctc(name: str, dtype: Any = np.float32, **more: Any) -> Case:
    how = {**OF_LABELS, "then": lambda loss, _: loss, "second_order": None, **more}
    return case("CTCLoss", name, normal(6, 2, 4, dtype=dtype), **how)


def ctc_v2(name: str, batch: int = 2, **more: Any) -> Case:
    return case(
        "CTCLossV2",
        name,
        single(6, batch, 4),
        labels_indices=np.array([[i, 0] for i in range(batch)], np.int64).reshape(batch, 2),
        labels_values=np.ones(batch, np.int32),
        sequence_length=np.full(batch, 6, np.int32),
        name="ctc",
        build=fed("CTCLossV2"),
        then=lambda loss, _: loss,
        also_fed={"ctc:0": single(batch), "ctc:1": single(6, batch, 4, seed=1)},
        **{"second_order": None, **more},
    )


CTC = [
    ctc("float"),
    ctc("double", np.float64),
    ctc("collapse_repeated", labels_values=(1, 1, 2, 0), preprocess_collapse_repeated=True),
    ctc("unmerged", ctc_merge_repeated=False),
    ctc("labels_too_long", sequence_length=ints(2, 4), ignore_longer_outputs_than_inputs=True),
    ctc("twice", **TWICE),
    ctc_v2("batch_of_2"),
    ctc_v2("batch_of_1_unmerged", 1, ctc_merge_repeated=False),
    ctc_v2("empty_batch", 0),
    ctc_v2("twice", **TWICE),
]

# ---- Choices, by how well they fit

COARSE = {"step": 2**-5, "tolerance": 1e-3}
# No point is about as far from one center as from another.
CENTERS = np.array([[0, 0], [2, 0], [0, 5], [-7, 1]], np.float32)


def decoded(name: str, logits: np.ndarray, **more: Any) -> Case:
    lengths = ints(len(logits), 0, 2, 1)[: logits.shape[1]]
    return numeric(
        "CTCGreedyDecoder", name, logits, lengths, then=lambda *y: tf.square(y[3]), **more
    )


def neighbors(name: str, k: int, count: int, **more: Any) -> Case:
    points = 0.2 * single(count, 2)
    more = {"then": lambda _, distances: distances, **COARSE, **more}
    return numeric("NearestNeighbors", name, points, CENTERS, k=np.array(k, np.int64), **more)


CHOICES = [
    decoded("batch", distinct(3, 4, 3)),
    decoded("known_shapes", distinct(2, 1, 4), known_shapes=True),
    decoded("unknown_rank", distinct(4, 3, 2), known_shapes="rank"),
    decoded("float", distinct(3, 2, 3, dtype=np.float32), **COARSE),
    neighbors("one", 1, 3),
    neighbors("two", 2, 4, known_shapes=True),
    neighbors("all", 9, 1, known_shapes="rank"),
]

CASES = [*ACTIVATIONS, *RESPONSES, *CROSS_ENTROPY, *CTC, *CHOICES]
