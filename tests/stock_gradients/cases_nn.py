"""Activations' gradients, losses, and ops that select elements by order or fit."""

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from old_ops import fed, of_version, outputs_are_fed, with_gradient
from parity import Case
from random_values import distinct, normal, single
from rows import case, each, floats, ints, longs, numeric, output
from tensorflow.python.framework import op_def_library
from tensorflow.python.framework.ops import gradient_registry

# ---- Activations

# Values on both sides of every kink, and on the kinks.
KINKS = np.array([-7.0, -1.0, -0.25, 0.0, 0.25, 1.0, 5.75, 6.0, 6.25, 40.0])
SMOOTH = np.array([-60.0, -3.0, -0.25, -1e-3, 1e-3, 0.5, 2.0, 6.5, 30.0, 60.0])
MATRICES = normal(3, 4), normal(3, 4, seed=1)
EMPTY = normal(0, 3), normal(0, 3)


def activation(op: str) -> list[Case]:
    x = SMOOTH if op == "SoftplusGrad" else KINKS
    # For larger values, e^x overflows in Python's softplus''.
    half = [normal(10, dtype=np.float16), x.clip(-9, 9).astype(np.float16)]
    return [
        case(op, "double", normal(10), x),
        case(op, "float_known_shape", *floats(normal(10), x), static="all"),
        case(op, "half", *half),
        case(op, "bfloat16", *(value.astype(ml_dtypes.bfloat16) for value in half)),
        case(op, "matrix_unknown_rank", *MATRICES, static="none"),
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
    numeric("SoftsignGrad", "matrix", *MATRICES, static="all"),
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
    cross_entropy("known_shapes", LOGITS, LABELS, static="all"),
    cross_entropy("its_gradient", LOGITS, LABELS, then=output(1)),
    cross_entropy("both", LOGITS, LABELS, then=None),
    cross_entropy(
        "both_numeric", LOGITS, LABELS, then=None, reference="numeric", second_order="numeric"
    ),
    cross_entropy("by_tf_nn", normal(2, 2, 3), build=_by_tf_nn, then=None),
]

# ---- CTCLoss: two sequences of up to 6 steps over 4 classes. The last class is the blank of
# CTCLoss, the first that of CTCLossV2, which has no CPU kernel.

OF_LABELS = {
    "labels_indices": longs([0, 0], [0, 1], [0, 2], [1, 0]),
    "labels_values": (1, 2, 1, 2),
    "sequence_length": ints(6, 4),
}
# Python refuses to differentiate twice, and so does this library.
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

# ---- Selection by fit

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
    decoded("known_shapes", distinct(2, 1, 4), static="all"),
    decoded("unknown_rank", distinct(4, 3, 2), static="none"),
    decoded("float", distinct(3, 2, 3, dtype=np.float32), **COARSE),
    neighbors("one", 1, 3),
    neighbors("two", 2, 4, static="all"),
    neighbors("all", 9, 1, static="none"),
]

CASES = [*ACTIVATIONS, *RESPONSES, *CROSS_ENTROPY, *CTC, *CHOICES]

# ---- Selection by order

distinct_single = functools.partial(distinct, dtype=np.float32)
distinct_half = functools.partial(distinct, dtype=np.float16)
TIES = np.array([[1.0, 2.0, 2.0, 0.0, 2.0], [3.0, 3.0, 3.0, 3.0, 3.0]])


def first(y: Any, *_: Any) -> Any:
    return y


def best(x: np.ndarray, k: int, axis: int = -1, largest: bool = True) -> dict[str, np.ndarray]:
    """The best along an axis and their positions, as the outputs of a node "top"."""
    order = np.argsort(-x if largest else x, axis=axis, kind="stable")
    indices = np.take(order, np.arange(k), axis)
    return {"top:0": np.take_along_axis(x, indices, axis), "top:1": indices.astype(np.int32)}


# ---- TopK: of graphs older than version 7, without a kernel


@tf.RegisterGradient("TopKWithoutK")
def _top_k_without_k(op: tf.Operation, *upstream: tf.Tensor) -> tf.Tensor:
    """Python's gradient of TopK fails, because it also returns one by an input k."""
    return gradient_registry.lookup("TopK")(op, *upstream)[0]


def top_k(name: str, x: np.ndarray, k: int, **how: Any) -> Case:
    build = of_version(6, fed("TopK", "TopKWithoutK"))
    how = {"build": build, "then": first, "k": k, "name": "top", **how}
    return case("TopK", name, x, also_fed=best(x, k), **how)


top_k_v2 = functools.partial(case, "TopKV2", then=first)
TOP_K = [
    top_k("vector", distinct(6), 2),
    top_k("volume_unsorted", distinct(2, 3, 5), 3, sorted=False),
    top_k("ties", TIES, 2),
    top_k("all", distinct_single(2, 4), 4),
    top_k_v2("vector", distinct(6), k=2),
    top_k_v2("matrix", distinct(3, 5), k=2),
    top_k_v2("volume_unsorted", distinct(2, 3, 5), k=3, sorted=False),
    top_k_v2("ties", TIES, k=2),
    top_k_v2("none", distinct(2, 4), k=0),
    top_k_v2("empty_batch", normal(0, 4), k=2),
    top_k_v2("float", distinct_single(3, 5), k=2),
    top_k_v2("half", distinct_half(3, 5), k=2),
    top_k_v2("bfloat16", distinct(3, 5, dtype=ml_dtypes.bfloat16), k=2),
    top_k_v2("int64_k", distinct(3, 5), k=np.int64(2)),
    # Python adds int32 to the indices, whatever their type.
    *(
        numeric("TopKV2", f"{dtype.name}_index", distinct(3, 5), k=2, then=first, index_type=dtype)
        for dtype in (tf.int64, tf.int16)
    ),
]

# ---- ApproxTopK: TensorFlow has CPU kernels only for the largest along the last axis, so other
# outputs are fed. Its own gradient needs static shapes.


def approximate(name: str, x: np.ndarray, k: int, axis: int = -1, is_max_k: bool = True) -> Case:
    how: dict[str, Any] = {"k": k, "reduction_dimension": axis, "is_max_k": is_max_k, "name": "top"}
    if not (is_max_k and axis == -1):
        how |= {"build": fed("ApproxTopK"), "also_fed": best(x, k, axis, is_max_k)}
    return case("ApproxTopK", name, x, then=lambda y, _: y * y, static="all", **how)


APPROXIMATE = [
    approximate("vector", distinct_single(6), 2),
    approximate("last_axis", distinct_single(2, 3, 5), 3),
    approximate("first_axis", distinct_single(5, 2, 3), 2, axis=0),
    approximate("middle_axis", distinct_single(2, 5, 3), 2, axis=1),
    approximate("axis_from_the_back", distinct_single(2, 5, 3), 2, axis=-2),
    approximate("smallest", distinct_single(3, 4), 1, is_max_k=False),
    approximate("half", distinct_half(3, 4), 4),
]

# ---- NthElement, KthOrderStatistic

STATISTIC = "KthOrderStatistic"
nth = functools.partial(case, "NthElement")


@tf.RegisterGradient("NthElementWithoutN")
def _nth_element_without_n(op: tf.Operation, upstream: tf.Tensor) -> tf.Tensor:
    return gradient_registry.lookup("NthElement")(op, upstream)[0]


def _order_statistic(x: Any, k: int) -> Any:
    with outputs_are_fed(STATISTIC):
        return op_def_library.apply_op(STATISTIC, input=x, k=k, name="fed")


def order_statistic(name: str, x: np.ndarray, k: int, **more: Any) -> Case:
    """It has kernels only for TPUs, so outputs are fed. Python's gradient is that of
    NthElement.
    """
    build = with_gradient(STATISTIC, "NthElementWithoutN", _order_statistic)
    fed_values = {"fed:0": np.sort(x)[..., -k]}
    return case(STATISTIC, name, x, build=build, k=k, also_fed=fed_values, **more)


STATISTICS = [
    nth("vector", distinct(6), n=2),
    nth("matrix", distinct(3, 5), n=1),
    nth("reverse", distinct(2, 3, 5), n=1, reverse=True),
    nth("ties", TIES, n=2),
    nth("float_known_shapes", distinct_single(3, 5), n=1, static="all"),
    nth("half", distinct_half(3, 5), n=1),
    nth("empty_batch", normal(0, 4), n=2),
    nth("numeric", distinct(3, 5), n=3, reference="numeric", second_order="numeric"),
    order_statistic("matrix", distinct_single(3, 5), 2),
    order_statistic("ties", TIES.astype(np.float32), 2, static="all"),
    order_statistic("unknown_rank", distinct_single(3, 5), 4, static="none"),
]

# ---- IsotonicRegression


def isotonic(name: str, x: np.ndarray, row: Any = case, **more: Any) -> Case:
    return row("IsotonicRegression", name, x, output_dtype=x.dtype, then=first, **more)


regression = functools.partial(isotonic, static="all")
ISOTONIC = [
    regression("matrix", normal(3, 6)),
    regression("float", normal(3, 6, dtype=np.float32)),
    regression("decreasing", np.sort(normal(2, 5))[:, ::-1].copy()),
    regression("increasing", np.sort(normal(2, 5))),
    regression("one_row", normal(1, 7)),
    # Python needs a known shape.
    isotonic("unknown_shape", normal(3, 6), numeric),
    isotonic("empty", normal(0, 4), numeric),
    regression("half", distinct_half(2, 5)),
]

CASES += [*TOP_K, *APPROXIMATE, *STATISTICS, *ISOTONIC]
