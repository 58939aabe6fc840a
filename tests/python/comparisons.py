# SPDX-License-Identifier: Apache-2.0
"""Every op, and stock ops that have the same value and the same gradient.

The tests of differentiation modes and of vectorization run over this table.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np
import op_definitions
import pytest
import reference_ops as stock
import slopes
import tensorflow as tf
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


_X = apart((3, 4), 0)
_WIDE = _X * 4

_ACTIVATIONS = [
    Comparison("relu", tfe.relu, tf.nn.relu, (_X,)),
    Comparison("gelu", tfe.gelu, stock.gelu, (_WIDE,)),
    Comparison(
        "gelu, exact", functools.partial(tfe.gelu, approximate=False), stock.gelu_exact, (_WIDE,)
    ),
    Comparison(
        "swiglu",
        tfe.swiglu,
        lambda gate, value: tf.nn.silu(gate) * value,
        (_WIDE, _WIDE[::-1] * 0.5),
    ),
    Comparison("mish", tfe.mish, lambda x: x * tf.tanh(tf.nn.softplus(x)), (_WIDE,)),
    Comparison("lisht", tfe.lisht, lambda x: x * tf.tanh(x), (_WIDE,)),
    Comparison("tanhshrink", tfe.tanhshrink, lambda x: x - tf.tanh(x), (_WIDE,)),
    Comparison(
        "hardshrink", functools.partial(tfe.hardshrink, **stock.BOUNDS), stock.hardshrink, (_WIDE,)
    ),
    Comparison(
        "softshrink", functools.partial(tfe.softshrink, **stock.BOUNDS), stock.softshrink, (_WIDE,)
    ),
    Comparison(
        "rrelu",
        lambda x: tfe.rrelu(x, 0.125, 0.375, training=True, seed=(7, -8)),
        lambda x: slopes.rrelu(x, (7, -8), 0.125, 0.375),
        (_X,),
    ),
    Comparison(
        "rrelu, not training",
        lambda x: tfe.rrelu(x, 0.125, 0.375),
        lambda x: tf.nn.leaky_relu(x, 0.25),
        (_X,),
    ),
    Comparison("sparsemax", tfe.sparsemax, stock.sparsemax, (_X,), any_shape=False),
    Comparison(
        "sparsemax, axis 0",
        lambda x: tfe.sparsemax(x, 0),
        lambda x: tf.transpose(stock.sparsemax(tf.transpose(x))),
        (_X,),
        any_shape=False,
    ),
]

_ROW = apart((4,), 1) * 8 + 0.3

_ARITHMETIC = [
    Comparison("floor_mod", tfe.floor_mod, stock.floor_mod, (_X[:, np.newaxis] * 9, _ROW)),
    Comparison(
        "multiply_left",
        tfe.multiply_left,
        lambda x, y: x * tf.stop_gradient(y),
        (_ROW, _X),
        without_gradient=(1,),
    ),
]


def _clip(x: tf.Tensor, y: tf.Tensor, clip_norm: tf.Tensor) -> tf.Tensor:
    clipped, norm = tfe.clip_by_global_norm([x, y], clip_norm)
    return stock.flat(*clipped, norm)


_CLIPPING = [
    Comparison(
        "clip_by_global_norm",
        _clip,
        stock.clip_by_global_norm,
        (_X, apart((5,), 1), np.array(0.5)),
        vectorizes_exactly=False,
    ),
    Comparison(
        "clip_by_global_norm, not clipped",
        _clip,
        stock.clip_by_global_norm,
        (_X, apart((5,), 1), np.array(3.0)),
        vectorizes_exactly=False,
    ),
]

_TABLE_AND_WEIGHTS = (apart((6, 5), 23), apart(stock.INDICES.shape, 24))

_EMBEDDING = [
    Comparison(
        "embedding_bag",
        functools.partial(tfe.embedding_bag, stock.INDICES),
        stock.embedding_bag,
        _TABLE_AND_WEIGHTS,
        any_shape=False,
    ),
    Comparison(
        "embedding_bag, mean",
        functools.partial(tfe.embedding_bag, stock.INDICES.astype(np.int32), combiner="mean"),
        lambda *inputs: stock.embedding_bag(*inputs) / stock.INDICES.shape[1],
        _TABLE_AND_WEIGHTS,
        any_shape=False,
    ),
]

_GRADIENT_MODIFIERS = [
    Comparison(
        "sign_straight_through",
        lambda x: tfe.sign_straight_through(x, clip=0.25),
        lambda x: with_value(tf.clip_by_value(x, -0.25, 0.25), tf.sign(x)),
        (_X,),
    ),
    Comparison(
        "round_straight_through",
        tfe.round_straight_through,
        lambda x: with_value(x, tf.round(x)),
        (_X * 9,),
    ),
    Comparison(
        "reverse_gradient",
        lambda x: tfe.reverse_gradient(x, scale=0.5),
        lambda x: with_value(-0.5 * x, x),
        (_X,),
    ),
    Comparison(
        "reverse_gradient_n",
        lambda x: tfe.reverse_gradient_n([x, tf.constant(3)], scale=0.5)[0],
        lambda x: with_value(-0.5 * x, x),
        (_X,),
    ),
    Comparison(
        "scale_gradient",
        lambda x: tfe.scale_gradient(x, scale=-3.0),
        lambda x: with_value(-3.0 * x, x),
        (_X,),
    ),
    Comparison(
        "clip_gradient",
        lambda x: tfe.clip_gradient(x, min=-0.5, max=0.25),
        stock.clip_gradient,
        (_X,),
    ),
    Comparison(
        "straight_through",
        tfe.straight_through,
        lambda value, surrogate: with_value(surrogate, value),
        (_X, _X[::-1] * 2),
        without_gradient=(0,),
    ),
]

_RNG = np.random.default_rng(5)
_ROWS = _RNG.normal(size=(2, 3, 5))
_SCALE, _OFFSET = _RNG.normal(size=(2, 5))

_NORMALIZATION = [
    Comparison(
        "layer_norm",
        lambda x, scale, offset: stock.with_statistics(
            *tfe.layer_norm(x, scale, offset, epsilon=stock.EPSILON)
        ),
        stock.layer_norm,
        (_ROWS, _SCALE, _OFFSET),
        any_shape=False,
    ),
    Comparison(
        "rms_norm",
        lambda x, scale: stock.with_statistics(*tfe.rms_norm(x, scale, epsilon=stock.EPSILON)),
        stock.rms_norm,
        (_ROWS, _SCALE),
        any_shape=False,
    ),
]

# The threshold differs from all values of `apart`.
_PRUNING = [
    Comparison(
        "prune_by_magnitude",
        tfe.prune_by_magnitude,
        lambda weights, threshold: with_value(weights, stock.prune(weights, threshold)),
        (_X, np.array(0.25)),
        without_gradient=(1,),
    ),
    Comparison(
        "prune_by_magnitude, masked",
        lambda weights, threshold: tfe.prune_by_magnitude(weights, threshold, gradient="masked"),
        stock.prune,
        (apart((3, 4), 1), np.array(0.25)),
        without_gradient=(1,),
    ),
]

_IMAGES = apart((2, 5, 5, 2), 2)
_PAIR = (2, 5, 6, 3)

_ON_IMAGES = [
    Comparison(
        "correlation_cost",
        functools.partial(tfe.correlation_cost, **stock.DISPLACEMENTS),
        stock.correlation_cost,
        (apart(_PAIR, 21), np.flip(apart(_PAIR, 22), 1).copy()),
        any_shape=False,
    ),
    Comparison(
        "roi_pool",
        lambda data, rois: tfe.roi_pool(data, rois, **stock.BINS).pooled,
        stock.roi_pool,
        (_IMAGES, stock.POOLED_REGIONS),
        without_gradient=(1,),
        any_shape=False,
    ),
    Comparison(
        "roi_align",
        functools.partial(tfe.roi_align, **stock.BINS),
        stock.roi_align,
        (_IMAGES, stock.ALIGNED_REGIONS),
        without_gradient=(1,),
        any_shape=False,
    ),
    Comparison(
        "resampler",
        tfe.resampler,
        stock.resampler,
        (apart((2, 5, 5, 3), 4), stock.POINTS),
        any_shape=False,
    ),
    Comparison(
        "interpolate_bilinear",
        tfe.interpolate_bilinear,
        stock.interpolate_bilinear,
        (apart((2, 5, 5, 3), 4), stock.POINTS * 2),
        any_shape=False,
    ),
    Comparison(
        "dense_image_warp",
        tfe.dense_image_warp,
        stock.dense_image_warp,
        (apart((2, 4, 5, 3), 4), apart((2, 4, 5, 2), 5) * 2.5 + 0.01),
        any_shape=False,
    ),
]

_ZEROING = [
    Comparison("zero_out", tfe.zero_out, stock.zero_out, (_X,)),
    Comparison(
        "zero_out_with_index", lambda x: tfe.zero_out_with_index(x).zeroed, stock.zero_out, (_X,)
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


_LISTED = [
    *_ACTIVATIONS,
    *_ARITHMETIC,
    *_CLIPPING,
    *_EMBEDDING,
    *_GRADIENT_MODIFIERS,
    *_NORMALIZATION,
    *_ON_IMAGES,
    *_PRUNING,
    *_ZEROING,
]
COMPARISONS = [*_LISTED, *_derived()]

every_op = pytest.mark.parametrize(
    "op", COMPARISONS, ids=[comparison.name for comparison in COMPARISONS]
)
