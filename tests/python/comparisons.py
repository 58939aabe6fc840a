"""Every op, and stock ops that have the same value and the same gradient.

The tests of differentiation modes and of vectorization run over this table.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import op_definitions
import pytest
import reference_ops as stock
import slopes
import tensorflow as tf
from commit_sampling import share_of_commit
from reference_ops import with_value

import tensorflow_ext as tfe
from tensorflow_ext import raw_ops

Function = Callable[..., tf.Tensor]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """An op with given attributes and inputs, and its stock counterpart."""

    # The op's function in tensorflow_ext; a comma precedes the name of a variant.
    name: str
    function: Function
    reference: Function
    inputs: tuple[np.ndarray, ...]
    # The inputs whose gradient is None.
    without_gradient: tuple[int, ...] = ()
    # True if tf.vectorized_map gives the same bits as a loop.
    vectorizes_exactly: bool = True
    # True if the inputs may have any common shape.
    any_shape: bool = True

    def tensors(self, dtype: tf.DType = tf.float64) -> list[tf.Tensor]:
        return [tf.constant(value, dtype) for value in self.inputs]


def apart(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Distinct values of both signs, no two closer than 0.01 and none closer to
    a multiple of 0.25 than 0.005, so away from every kink of the ops."""
    count = int(np.prod(shape))
    values = (np.arange(count) - count // 2) * 0.0625 + 0.03125
    return np.random.default_rng(seed).permutation(values).reshape(shape)


def upstream_of(like: tf.Tensor, seed: int = 3) -> tf.Tensor:
    """A random upstream gradient in the shape of `like`."""
    values = np.random.default_rng(seed).normal(size=like.shape)
    return tf.constant(values, like.dtype)


def _row(
    name: str,
    *inputs: np.ndarray,
    attributes: dict[str, Any] | None = None,
    function: Function | None = None,
    reference: Function | None = None,
    **more: Any,
) -> Comparison:
    """A comparison of the function and the stock function of this name, if none are given."""
    op = name.partition(",")[0]
    function = functools.partial(function or getattr(tfe, op), **(attributes or {}))
    return Comparison(name, function, reference or getattr(stock, op), inputs, **more)


def _clip(x: tf.Tensor, y: tf.Tensor, clip_norm: tf.Tensor) -> tf.Tensor:
    clipped, norm = tfe.clip_by_global_norm([x, y], clip_norm)
    return stock.flat(*clipped, norm)


def _layer_norm(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
    return stock.with_statistics(*tfe.layer_norm(x, scale, offset, epsilon=stock.EPSILON))


_X = apart((3, 4), 0)
_WIDE = _X * 4
_ROW = apart((4,), 1) * 8 + 0.3
_VECTOR = apart((5,), 1)
_TABLE_AND_WEIGHTS = apart((6, 5), 23), apart(stock.INDICES.shape, 24)
_RNG = np.random.default_rng(5)
_ROWS = _RNG.normal(size=(2, 3, 5))
_SCALE, _OFFSET = _RNG.normal(size=(2, 5))
# The threshold differs from all values of `apart`.
_THRESHOLD = np.array(0.25)
_PAIR = apart((2, 5, 6, 3), 21), np.flip(apart((2, 5, 6, 3), 22), 1).copy()
_IMAGES, _DEEPER = apart((2, 5, 5, 2), 2), apart((2, 5, 5, 3), 4)
_WARPED, _FLOW = apart((2, 4, 5, 3), 4), apart((2, 4, 5, 2), 5) * 2.5 + 0.01

# Rows of ops whose inputs have shapes of their own.
_shaped = functools.partial(_row, any_shape=False)
_clipped = functools.partial(_row, function=_clip, vectorizes_exactly=False)
_LISTED = [
    # ---- Activations
    _row("relu", _X, reference=tf.nn.relu),
    _row("gelu", _WIDE),
    _row("gelu, exact", _WIDE, attributes={"approximate": False}, reference=stock.gelu_exact),
    _row(
        "swiglu", _WIDE, _WIDE[::-1] * 0.5, reference=lambda gate, value: tf.nn.silu(gate) * value
    ),
    _row("mish", _WIDE, reference=lambda x: x * tf.tanh(tf.nn.softplus(x))),
    _row("lisht", _WIDE, reference=lambda x: x * tf.tanh(x)),
    _row("tanhshrink", _WIDE, reference=lambda x: x - tf.tanh(x)),
    _row("hardshrink", _WIDE, attributes=stock.BOUNDS),
    _row("softshrink", _WIDE, attributes=stock.BOUNDS),
    _row(
        "rrelu",
        _X,
        attributes={"lower": 0.125, "upper": 0.375, "training": True, "seed": (7, -8)},
        reference=lambda x: slopes.rrelu(x, (7, -8), 0.125, 0.375),
    ),
    _row(
        "rrelu, not training",
        _X,
        attributes={"lower": 0.125, "upper": 0.375},
        reference=lambda x: tf.nn.leaky_relu(x, 0.25),
    ),
    _shaped("sparsemax", _X),
    _shaped(
        "sparsemax, axis 0",
        _X,
        attributes={"axis": 0},
        reference=lambda x: tf.transpose(stock.sparsemax(tf.transpose(x))),
    ),
    # ---- Arithmetic, and sums
    _row("floor_mod", _X[:, np.newaxis] * 9, _ROW),
    _row("multiply_left", _ROW, _X, without_gradient=(1,)),
    _clipped("clip_by_global_norm", _X, _VECTOR, np.array(0.5)),
    _clipped("clip_by_global_norm, not clipped", _X, _VECTOR, np.array(3.0)),
    _shaped(
        "embedding_bag",
        *_TABLE_AND_WEIGHTS,
        function=functools.partial(tfe.embedding_bag, stock.INDICES),
    ),
    _shaped(
        "embedding_bag, mean",
        *_TABLE_AND_WEIGHTS,
        function=functools.partial(tfe.embedding_bag, stock.INDICES.astype(np.int32)),
        attributes={"combiner": "mean"},
        reference=lambda *inputs: stock.embedding_bag(*inputs) / stock.INDICES.shape[1],
    ),
    # ---- Gradients reshaped
    _row(
        "sign_straight_through",
        _X,
        attributes={"clip": 0.25},
        reference=lambda x: with_value(tf.clip_by_value(x, -0.25, 0.25), tf.sign(x)),
    ),
    _row("round_straight_through", _X * 9, reference=lambda x: with_value(x, tf.round(x))),
    _row(
        "reverse_gradient",
        _X,
        attributes={"scale": 0.5},
        reference=lambda x: with_value(-0.5 * x, x),
    ),
    _row(
        "reverse_gradient_n",
        _X,
        function=lambda x: tfe.reverse_gradient_n([x, tf.constant(3)], scale=0.5)[0],
        reference=lambda x: with_value(-0.5 * x, x),
    ),
    _row(
        "scale_gradient",
        _X,
        attributes={"scale": -3.0},
        reference=lambda x: with_value(-3.0 * x, x),
    ),
    _row("clip_gradient", _X, attributes={"min": -0.5, "max": 0.25}),
    _row(
        "straight_through",
        *(_X, _X[::-1] * 2),
        reference=lambda value, surrogate: with_value(surrogate, value),
        without_gradient=(0,),
    ),
    # ---- Normalizations, pruning
    _shaped("layer_norm", _ROWS, _SCALE, _OFFSET, function=_layer_norm),
    _shaped(
        "rms_norm",
        *(_ROWS, _SCALE),
        function=lambda *x: stock.with_statistics(*tfe.rms_norm(*x, epsilon=stock.EPSILON)),
    ),
    _row(
        "prune_by_magnitude",
        *(_X, _THRESHOLD),
        reference=lambda weights, threshold: with_value(weights, stock.prune(weights, threshold)),
        without_gradient=(1,),
    ),
    _row(
        "prune_by_magnitude, masked",
        *(apart((3, 4), 1), _THRESHOLD),
        attributes={"gradient": "masked"},
        reference=stock.prune,
        without_gradient=(1,),
    ),
    # ---- On images
    _shaped("correlation_cost", *_PAIR, attributes=stock.DISPLACEMENTS),
    _shaped(
        "roi_pool",
        *(_IMAGES, stock.POOLED_REGIONS),
        function=lambda data, rois: tfe.roi_pool(data, rois, **stock.BINS).pooled,
        without_gradient=(1,),
    ),
    _shaped(
        "roi_align", _IMAGES, stock.ALIGNED_REGIONS, attributes=stock.BINS, without_gradient=(1,)
    ),
    _shaped("resampler", _DEEPER, stock.POINTS),
    _shaped("interpolate_bilinear", _DEEPER, stock.POINTS * 2),
    _shaped("dense_image_warp", _WARPED, _FLOW),
    _row("zero_out", _X),
    _row(
        "zero_out_with_index",
        _X,
        function=lambda x: tfe.zero_out_with_index(x).zeroed,
        reference=stock.zero_out,
    ),
]


def _derived() -> Iterator[Comparison]:
    """The elementwise ops whose modules have a reference, and that no list above has."""
    listed = {op.name.partition(",")[0] for op in _LISTED}
    definitions = op_definitions.definitions()
    for name, function in tfe.ops.FUNCTIONS.items():
        op = raw_ops.OPS.get(name, "").rpartition(">")[2]
        if name not in listed and op in definitions:
            one = definitions[op]
            inputs = (_WIDE, apart((4,), 1) * 8 if one.broadcasts else _WIDE[::-1] * 0.5)
            yield Comparison(
                name,
                functools.partial(function, **one.attributes),
                tfe.ops.OPS[op].get("stock")
                or functools.partial(one.reference, tf.experimental.numpy),
                inputs[: len(one.inputs)],
            )


COMPARISONS = [*_LISTED, *_derived()]


def _parametrize(chosen: Sequence[Comparison]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("op", chosen, ids=[op.name for op in chosen])


every_op = _parametrize(COMPARISONS)


def ops_of_commit(name: str, one_in: int) -> pytest.MarkDecorator:
    """Chooses some ops for each commit."""
    return _parametrize(share_of_commit(name, COMPARISONS, one_in))
