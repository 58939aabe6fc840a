# SPDX-License-Identifier: Apache-2.0
"""Models of convolutions and of pooling."""

import keras
from keras import layers
from model import Model, chain, lacking_layers
from random_values import normal


def convolution_and_pooling(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [6, 6, 2],
        layers.Conv2D(3, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dense(2),
    )


def decoder(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [4, 4, 2],
        layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2),
        layers.UpSampling2D(2, interpolation="bilinear"),
        layers.Conv2DTranspose(2, 3, strides=2, padding="same"),
        layers.LeakyReLU(0.2),
    )


def dilated(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [9, 2],
        layers.Conv1D(3, 2, dilation_rate=1, padding="causal", activation="tanh"),
        layers.Conv1D(3, 2, dilation_rate=2, padding="causal", activation="tanh"),
        layers.Conv1D(2, 2, dilation_rate=3),
    )


def separable(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [5, 5, 2],
        layers.SeparableConv2D(3, 2, activation="softplus"),
        layers.Reshape([16, 3]),
        layers.SeparableConv1D(2, 3, depth_multiplier=2),
    )


def one_dimension(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [6, 2],
        layers.DepthwiseConv1D(3, padding="same", activation="silu"),
        layers.Conv1DTranspose(3, 3, strides=2),
        layers.AveragePooling1D(2),
        layers.MaxPooling1D(2),
    )


def three_dimensions(dtype: str) -> keras.Model:
    del dtype
    return chain(
        [4, 4, 4, 1],
        layers.Conv3D(2, 2, activation="sigmoid"),
        layers.Conv3DTranspose(2, 2),
        layers.Conv3D(1, 1),
        layers.GlobalAveragePooling3D(),
    )


def strided_groups(dtype: str) -> keras.Model:
    """Images of any size, as a fully convolutional network takes them."""
    del dtype
    return chain(
        [None, None, 4],
        layers.Conv2D(4, 3, strides=2, groups=2, padding="same", activation="elu"),
        layers.Conv2D(2, 2, dilation_rate=2, padding="same"),
        layers.GlobalMaxPooling2D(),
    )


def residual(dtype: str) -> keras.Model:
    del dtype
    x = keras.Input([5, 5, 2], name="x")
    y = layers.Conv2D(2, 3, padding="same", use_bias=False)(x)
    y = layers.Activation("relu")(layers.BatchNormalization()(y))
    y = layers.Conv2D(2, 3, padding="same", use_bias=False)(y)
    y = layers.Add()([layers.BatchNormalization()(y), x])
    y = layers.GlobalAveragePooling2D()(layers.ReLU()(y))
    return keras.Model(x, layers.Dense(3, activation="softmax")(y))


def poolings(dtype: str) -> keras.Model:
    del dtype
    x = keras.Input([6, 6, 2], name="x")
    rows = layers.Reshape([12, 6])(x)
    return keras.Model(
        x,
        {
            "average": layers.AveragePooling2D(3, strides=2, padding="same")(x),
            "largest": layers.MaxPooling2D(3, strides=1, padding="same")(x),
            "rows": layers.GlobalMaxPooling1D()(rows),
            "means": layers.GlobalAveragePooling1D()(rows),
            "volume": layers.GlobalMaxPooling3D()(layers.Reshape([3, 4, 3, 2])(x)),
        },
    )


def adaptive_poolings(dtype: str) -> keras.Model:
    """Windows that share their borders."""
    del dtype
    x = keras.Input([5, 7, 2], name="x")
    rows = layers.Reshape([14, 5])(x)
    pooled = [
        layers.AdaptiveAveragePooling1D(3)(rows),
        layers.AdaptiveMaxPooling1D(4)(rows),
        layers.AdaptiveAveragePooling2D((2, 3))(x),
        layers.AdaptiveMaxPooling2D((3, 2))(x),
    ]
    return keras.Model(x, layers.Concatenate()([layers.Flatten()(y) for y in pooled]))


def pooled_volumes(dtype: str) -> keras.Model:
    del dtype
    x = keras.Input([4, 4, 4, 1], name="x")
    y = layers.MaxPooling3D(2, strides=1)(x)
    y = layers.AveragePooling3D(2, strides=1)(layers.Conv3D(2, 2)(y))
    pooled = [y]
    if not lacking_layers():
        pooled += [layers.AdaptiveMaxPooling3D(3)(x), layers.AdaptiveAveragePooling3D(3)(x)]
    return keras.Model(x, layers.Concatenate()([layers.Flatten()(y) for y in pooled]))


MODELS = [
    Model("convolution_and_pooling", convolution_and_pooling, {"x": normal(2, 6, 6, 2)}),
    Model("decoder", decoder, {"x": normal(2, 4, 4, 2)}),
    Model("dilated", dilated, {"x": normal(2, 9, 2)}),
    Model("separable", separable, {"x": normal(2, 5, 5, 2)}),
    Model("one_dimension", one_dimension, {"x": normal(2, 6, 2)}),
    Model("three_dimensions", three_dimensions, {"x": normal(2, 4, 4, 4, 1)}),
    Model(
        "pooled_volumes",
        pooled_volumes,
        {"x": normal(2, 4, 4, 4, 1)},
        types=["float32"],  # there are no kernels for double
    ),
    Model("strided_groups", strided_groups, {"x": normal(2, 5, 7, 4)}),
    Model("residual", residual, {"x": normal(2, 5, 5, 2)}),
    Model("poolings", poolings, {"x": normal(2, 6, 6, 2)}),
]
if not lacking_layers():
    MODELS.append(Model("adaptive_poolings", adaptive_poolings, {"x": normal(2, 5, 7, 2)}))
