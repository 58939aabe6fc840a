"""Models of convolutions and of pooling."""

from typing import Any

import keras
from keras import layers
from model import BOTH_TYPES, Layers, chain, lacking_layers, model
from random_values import normal


@model({"x": normal(2, 6, 6, 2)})
def convolution_and_pooling() -> Layers:
    return [
        layers.Conv2D(3, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dense(2),
    ]


@model({"x": normal(2, 4, 4, 2)})
def decoder() -> Layers:
    return [
        layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2),
        layers.UpSampling2D(2, interpolation="bilinear"),
        layers.Conv2DTranspose(2, 3, strides=2, padding="same"),
        layers.LeakyReLU(0.2),
    ]


@model({"x": normal(2, 9, 2)})
def dilated() -> Layers:
    return [
        layers.Conv1D(3, 2, dilation_rate=1, padding="causal", activation="tanh"),
        layers.Conv1D(3, 2, dilation_rate=2, padding="causal", activation="tanh"),
        layers.Conv1D(2, 2, dilation_rate=3),
    ]


@model({"x": normal(2, 5, 5, 2)})
def separable() -> Layers:
    return [
        layers.SeparableConv2D(3, 2, activation="softplus"),
        layers.Reshape([16, 3]),
        layers.SeparableConv1D(2, 3, depth_multiplier=2),
    ]


@model({"x": normal(2, 6, 2)})
def one_dimension() -> Layers:
    return [
        layers.DepthwiseConv1D(3, padding="same", activation="silu"),
        layers.Conv1DTranspose(3, 3, strides=2),
        layers.AveragePooling1D(2),
        layers.MaxPooling1D(2),
    ]


@model({"x": normal(2, 4, 4, 4, 1)})
def three_dimensions() -> Layers:
    return [
        layers.Conv3D(2, 2, activation="sigmoid"),
        layers.Conv3DTranspose(2, 2),
        layers.Conv3D(1, 1),
        layers.GlobalAveragePooling3D(),
    ]


@model({"x": normal(2, 5, 7, 4)})
def strided_groups() -> keras.Model:
    """Images of any size, as for a fully convolutional network."""
    several = [
        layers.Conv2D(4, 3, strides=2, groups=2, padding="same", activation="elu"),
        layers.Conv2D(2, 2, dilation_rate=2, padding="same"),
        layers.GlobalMaxPooling2D(),
    ]
    return chain([None, None, 4], several)


@model({"x": normal(2, 5, 5, 2)})
def residual(x: Any) -> Any:
    y = layers.Conv2D(2, 3, padding="same", use_bias=False)(x)
    y = layers.Activation("relu")(layers.BatchNormalization()(y))
    y = layers.Conv2D(2, 3, padding="same", use_bias=False)(y)
    y = layers.Add()([layers.BatchNormalization()(y), x])
    y = layers.GlobalAveragePooling2D()(layers.ReLU()(y))
    return layers.Dense(3, activation="softmax")(y)


@model({"x": normal(2, 6, 6, 2)})
def poolings(x: Any) -> Any:
    rows = layers.Reshape([12, 6])(x)
    return {
        "average": layers.AveragePooling2D(3, strides=2, padding="same")(x),
        "largest": layers.MaxPooling2D(3, strides=1, padding="same")(x),
        "rows": layers.GlobalMaxPooling1D()(rows),
        "means": layers.GlobalAveragePooling1D()(rows),
        "volume": layers.GlobalMaxPooling3D()(layers.Reshape([3, 4, 3, 2])(x)),
    }


@model({"x": normal(2, 5, 7, 2)}, newer_keras=BOTH_TYPES)
def adaptive_poolings(x: Any) -> Any:
    """Windows that share their borders."""
    rows = layers.Reshape([14, 5])(x)
    pooled = [
        layers.AdaptiveAveragePooling1D(3)(rows),
        layers.AdaptiveMaxPooling1D(4)(rows),
        layers.AdaptiveAveragePooling2D((2, 3))(x),
        layers.AdaptiveMaxPooling2D((3, 2))(x),
    ]
    return layers.Concatenate()([layers.Flatten()(y) for y in pooled])


@model({"x": normal(2, 4, 4, 4, 1)}, types=["float32"])  # there are no kernels for double
def pooled_volumes(x: Any) -> Any:
    y = layers.MaxPooling3D(2, strides=1)(x)
    y = layers.AveragePooling3D(2, strides=1)(layers.Conv3D(2, 2)(y))
    pooled = [y]
    if not lacking_layers():
        pooled += [layers.AdaptiveMaxPooling3D(3)(x), layers.AdaptiveAveragePooling3D(3)(x)]
    return layers.Concatenate()([layers.Flatten()(y) for y in pooled])
