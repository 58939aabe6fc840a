"""Every layer, with arguments that are not its defaults, and its expected results."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from commit_sampling import share_of_commit
from layers_case import Case, values

import tensorflow_ext as tfe
from tensorflow_ext import layers

_X = values(4, 3, 6)
_INFINITE = [float("nan"), float("inf")]


def _elementwise(
    layer: type[keras.layers.Layer],
    function: Callable[..., tf.Tensor],
    invalid: Sequence[dict[str, Any]] = (),
    **arguments: Any,
) -> Case:
    return Case(layer, arguments, (_X,), lambda x: function(x, **arguments), invalid=invalid)


_NO_BOUNDS = [{"lower": float("nan")}, {"upper": "a"}, {"upper": -2.0}]
CASES = {
    "GELU": _elementwise(
        layers.GELU,
        tfe.gelu,
        approximate=False,
        invalid=[{"approximate": "tanh"}, {"approximate": None}],
    ),
    "Mish": _elementwise(layers.Mish, tfe.mish),
    "LiSHT": _elementwise(layers.LiSHT, tfe.lisht),
    "TanhShrink": _elementwise(layers.TanhShrink, tfe.tanhshrink),
    "HardShrink": _elementwise(
        layers.HardShrink, tfe.hardshrink, _NO_BOUNDS, lower=-0.75, upper=float("inf")
    ),
    "SoftShrink": _elementwise(
        layers.SoftShrink, tfe.softshrink, _NO_BOUNDS, lower=-0.75, upper=0.25
    ),
    "RReLU": Case(
        layers.RReLU,
        {"lower": 0.25, "upper": 0.5, "seed": 1},
        (_X,),
        lambda x, *_: tfe.rrelu(x, 0.25, 0.5),
        invalid=[*({"lower": x} for x in [*_INFINITE, "1"]), {"upper": 0.0}, {"seed": 1.5}],
        separable=False,
    ),
    "Sparsemax": Case(
        layers.Sparsemax,
        {"axis": 1},
        (_X,),
        lambda x: tfe.sparsemax(x, axis=1),
        invalid=[{"axis": 1.0}, {"axis": True}, {"axis": None}],
        wrong=[[(4,)], [()]],
    ),
    "SwiGLU": Case(
        layers.SwiGLU,
        {},
        (_X, values(4, 3, 6)),
        tfe.swiglu,
        wrong=[[(4, 3, 6), (4, 3, 5)], [(4, 3), (4, 3, 1)], [(4, 3)]],
    ),
    "GradientReversal": _elementwise(
        layers.GradientReversal,
        tfe.reverse_gradient,
        [{"scale": x} for x in [*_INFINITE, "1", None, True]],
        scale=0.5,
    ),
    "GradientReversal by a schedule": Case(
        layers.GradientReversal,
        {"scale": layers.DomainAdversarialSchedule(4, gamma=5.0)},
        (_X,),
        lambda x, _: tf.stop_gradient(x),  # The strength is 0 at first.
    ),
    "SignQuantizer": _elementwise(
        layers.SignQuantizer,
        tfe.sign_straight_through,
        [{"clip": x} for x in [*_INFINITE, 0, -1.0, "1"]],
        clip=0.5,
    ),
    "MagnitudePruning": Case(
        layers.MagnitudePruning,
        {"threshold": 0.5},
        (_X,),
        lambda x, threshold, _: tfe.prune_by_magnitude(x, threshold),
        invalid=[
            *({"threshold": x} for x in (float("nan"), "1", None)),
            {"sparsity": 0.5},
            {"gradient": "none"},
        ],
    ),
    "MagnitudePruning to a sparsity": Case(
        layers.MagnitudePruning,
        {"sparsity": 0.75, "gradient": "masked"},
        (_X,),
        lambda x, *_: tfe.prune_by_magnitude(
            x, np.sort(np.abs(_X), axis=None)[54], gradient="masked"
        ),
        invalid=[{"sparsity": x} for x in [*_INFINITE, 1.5, -0.5, "1"]],
        separable=False,
    ),
    "MagnitudePruning by a schedule": Case(
        layers.MagnitudePruning,
        {"sparsity": layers.PolynomialSparsity(0.25, 0.75, 1, 3, 2.0, frequency=1)},
        (_X,),
        lambda x, *_: x,
        separable=False,
    ),
}

_SIZE_UNKNOWN: list[Any] = [[(4, 3, None)], [()]]
CASES |= {
    "Snake": Case(
        layers.Snake, {"frequency_initializer": keras.initializers.Constant(0.5)}, (_X,), tfe.snake
    ),
    "Snake of channels": Case(
        layers.Snake,
        {
            "frequency_initializer": keras.initializers.RandomUniform(0.5, 2, seed=1),
            "per_channel": True,
        },
        (_X,),
        tfe.snake,
        wrong=_SIZE_UNKNOWN,
    ),
    "LayerNormalization": Case(
        layers.LayerNormalization,
        {
            "epsilon": 0.25,
            "gamma_initializer": keras.initializers.RandomUniform(seed=1),
            "beta_initializer": keras.initializers.RandomUniform(seed=2),
            "gamma_regularizer": "l2",
            "beta_constraint": "non_neg",
        },
        (_X,),
        lambda x, gamma, beta: tfe.layer_norm(x, gamma, beta, epsilon=0.25).y,
        invalid=[*({"epsilon": x} for x in [*_INFINITE, -1.0]), {"center": "no"}],
        wrong=_SIZE_UNKNOWN,
    ),
    "LayerNormalization without weights": Case(
        layers.LayerNormalization,
        {"epsilon": 0.25, "center": False, "scale": False},
        (_X,),
        lambda x: tfe.layer_norm(x, tf.ones(6), tf.zeros(6), epsilon=0.25).y,
    ),
    "RmsNormalization": Case(
        layers.RmsNormalization,
        {
            "epsilon": 0.25,
            "scale_initializer": keras.initializers.RandomUniform(seed=1),
            "scale_regularizer": "l2",
        },
        (_X,),
        lambda x, scale: tfe.rms_norm(x, scale, epsilon=0.25).y,
        invalid=[{"epsilon": x} for x in [*_INFINITE, -1.0]],
        wrong=_SIZE_UNKNOWN,
    ),
}

_IMAGES = values(4, 5, 6, 3)
# Each of two devices has the images 0 and 1.
_ROIS = np.array(
    [[0, 1, 2, 9, 8], [1, 3, 0, 11.5, 7], [1, 0, 0, 4, 9], [0, 2, 2, 3, 4]], np.float32
)
_BINS = {"pooled_height": 2, "pooled_width": 3, "spatial_scale": 0.5}
_SAMPLES = {"sampling_ratio": 2, "aligned": False}
_POINTS = values(4, 2, 3, 2) + 2
_FLOW = values(4, 5, 6, 2)
_COST = {"kernel_size": 3, "max_displacement": 2, "stride_1": 2, "stride_2": 1}
_COST |= {"pad": 3}
_NO_BINS = [{"pooled_height": 0}, {"pooled_width": 1.5}, {"data_format": "NCHW"}]
_NO_BINS += [{"spatial_scale": x} for x in [*_INFINITE, "1"]]
_NO_ROIS = [[(5, 6, 3), (4, 5)], [(4, 5, 6, 3), (4, 4)], [(4, 5, 6, 3)]]


def _over_images(
    function: Callable[..., tf.Tensor], has_channels: tuple[bool, bool] = (True, False), **case: Any
) -> dict[str, Case]:
    """The two cases of a layer, with its images in either data format."""
    images = Case(masking=False, reference=function, **case)

    def transposed(*inputs: tf.Tensor) -> tf.Tensor:
        last = (
            tf.transpose(x, [0, 2, 3, 1]) if has else x
            for x, has in zip(inputs, has_channels, strict=True)
        )
        return tf.transpose(function(*last), [0, 3, 1, 2])

    def order(shapes: Sequence[tuple[int, ...]]) -> Sequence[tuple[int, ...]]:
        return [
            (shape[0], shape[-1], *shape[1:-1]) if has else shape
            for shape, has in zip(shapes, has_channels, strict=False)
        ]

    return {
        images.layer.__name__: images,
        f"{images.layer.__name__} of channels first": dataclasses.replace(
            images,
            arguments={**images.arguments, "data_format": "channels_first"},
            inputs=tuple(
                np.moveaxis(x, -1, 1) if has else x
                for x, has in zip(images.inputs, has_channels, strict=True)
            ),
            reference=transposed,
            invalid=(),
            wrong=[order(shapes) for shapes in images.wrong],
        ),
    }


CASES |= {
    **_over_images(
        lambda data, rois: tfe.roi_pool(data, rois, **_BINS).pooled,
        layer=layers.RoiPooling,
        arguments=_BINS,
        inputs=(_IMAGES, _ROIS),
        invalid=_NO_BINS,
        wrong=_NO_ROIS,
        separable=False,
    ),
    **_over_images(
        lambda data, rois: tfe.roi_align(data, rois, **_BINS, **_SAMPLES),
        layer=layers.RoiAlign,
        arguments={**_BINS, **_SAMPLES},
        inputs=(_IMAGES, _ROIS),
        invalid=[*_NO_BINS, {"sampling_ratio": -1}, {"aligned": "no"}],
        wrong=_NO_ROIS,
        separable=False,
    ),
    **_over_images(
        lambda a, b: tfe.correlation_cost(a, b, **_COST),
        (True, True),
        layer=layers.CorrelationCost,
        arguments=_COST,
        inputs=(_IMAGES, values(4, 5, 6, 3)),
        invalid=[
            {"kernel_size": 2},
            {"kernel_size": 0},
            {"max_displacement": -1},
            {"stride_1": 0},
            {"stride_2": 1.5},
            {"pad": -1},
            {"data_format": "NHWC"},
        ],
        wrong=[[(4, 5, 6, 3), (4, 5, 6, 2)], [(5, 6, 3), (5, 6, 3)], [(4, 5, 6, 3)]],
    ),
    **_over_images(
        tfe.resampler,
        layer=layers.Resampler,
        arguments={},
        inputs=(_IMAGES, _POINTS),
        invalid=[{"data_format": 1}],
        wrong=[
            [(4, 5, 6), (4, 2)],
            [(4, 5, 6, 3), (4, 7, 3)],
            [(4, 5, 6, 3), (3, 7, 2)],
            [(4, 5, 6, 3)] * 3,
        ],
    ),
    **_over_images(
        tfe.dense_image_warp,
        (True, True),
        layer=layers.DenseImageWarp,
        arguments={},
        inputs=(_IMAGES, _FLOW),
        invalid=[{"data_format": ["channels_last"]}],
        wrong=[
            [(4, 5, 6), (4, 5, 2)],
            [(4, 5, 6, 3), (4, 5, 6, 3)],
            [(4, 5, 6, 3), (3, 5, 6, 2)],
            [(4, 5, 6, 3)],
        ],
    ),
}


def _bag(
    indices: tf.Tensor,
    weights: tf.Tensor,
    table: tf.Tensor,
    divisor: Callable[[tf.Tensor], tf.Tensor],
) -> tf.Tensor:
    """Sums of rows, gathered one by one."""
    weights = tf.cast(weights, table.dtype)[..., tf.newaxis]
    sums = tf.reduce_sum(tf.gather(table, indices) * weights, axis=-2)
    return tf.math.divide_no_nan(sums, divisor(weights))


_INDICES = np.array([[1, 2, 0], [0, 0, 0], [4, 4, 3], [0, 5, 6]], np.int32)
_BAGS = np.stack([_INDICES, _INDICES[::-1]], axis=1)
_TABLE = {"input_dim": 7, "output_dim": 5}
_TABLE |= {"embeddings_initializer": keras.initializers.RandomUniform(-1, 1, seed=1)}
_bag_layer = functools.partial(Case, layers.EmbeddingBag, masking=None, tolerance=1e-6)
CASES |= {
    "EmbeddingBag": _bag_layer(
        {**_TABLE, "combiner": "MEAN"},
        (_INDICES,),
        lambda x, table: _bag(x, tf.ones(x.shape), table, lambda _: 3.0),
        invalid=[{"input_dim": 0}, {"output_dim": 2.5}, {"combiner": "max"}, {"combiner": None}],
        wrong=[[(4,)]],
    ),
    "EmbeddingBag of padded bags": _bag_layer(
        {
            **_TABLE,
            "combiner": "sqrtn",
            "mask_zero": True,
            "embeddings_regularizer": "l2",
            "embeddings_constraint": "max_norm",
        },
        (_INDICES,),
        lambda x, table: _bag(x, x != 0, table, lambda w: tf.sqrt(tf.reduce_sum(w, axis=-2))),
    ),
    "EmbeddingBag with weights": _bag_layer(
        {**_TABLE, "combiner": "mean"},
        (_BAGS, np.abs(values(4, 2, 3)) + 1),
        lambda x, weights, table: _bag(x, weights, table, lambda w: tf.reduce_sum(w, axis=-2)),
        wrong=[[(4, 2, 3), (4, 2, 2)], [(4, 3), (4, 1, 3)]],
        keywords=("weights",),
    ),
    "EmbeddingBag with sparse gradients": _bag_layer(
        {**_TABLE, "sparse_gradients": True},
        (_BAGS,),
        lambda x, table: _bag(x, tf.ones(x.shape), table, lambda _: 1.0),
    ),
}

every_layer = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def layers_of_commit(name: str, one_in: int) -> pytest.MarkDecorator:
    """Chooses some layers for each commit."""
    chosen = share_of_commit(name, [*CASES], one_in, "tensorflow_ext/layers/")
    return pytest.mark.parametrize("case", [CASES[name] for name in chosen], ids=chosen)
