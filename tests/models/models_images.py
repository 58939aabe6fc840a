# SPDX-License-Identifier: Apache-2.0
"""Models of images that are resized and changed."""

import keras
from keras import layers
from model import Model, chain, lacking_layers
from random_values import normal


def resized(dtype: str) -> keras.Model:
    """An image of pixels is brought to the size that the network takes."""
    del dtype
    return chain(
        [6, 6, 1],
        layers.Rescaling(1 / 255),
        layers.Resizing(4, 5),
        layers.CenterCrop(3, 4),
        layers.Conv2D(2, 2, activation="relu"),
        layers.Resizing(4, 4, interpolation="bicubic"),
        layers.Conv2D(1, 2),
        layers.Resizing(4, 4, interpolation="nearest"),
    )


def augmented(dtype: str) -> keras.Model:
    """Keras saves what changes images in training as it is in training."""
    del dtype
    return chain(
        [8, 8, 3],
        layers.RandomFlip(),
        layers.RandomRotation(0.1),
        layers.RandomBrightness(0.2),
        layers.Conv2D(2, 3),
    )


def stretched(dtype: str) -> keras.Model:
    """What changes images, or might, without drawing numbers."""
    del dtype
    x = keras.Input([8, 8, 3], name="x")
    parts = [
        layers.AutoContrast()(x),
        layers.RandomColorJitter()(x),
        layers.MaxNumBoundingBoxes(3)(x),
        layers.Pipeline([layers.Rescaling(0.5)])(x),
    ]
    if not lacking_layers():
        parts.append(layers.ContrastLimitedAdaptiveHistogramEqualization()(x))
    return keras.Model(x, layers.Conv2D(1, 2)(layers.Concatenate()(parts)))


PIXELS = abs(50 * normal(2, 8, 8, 3))
MODELS = [
    Model("resized", resized, {"x": 255 * normal(2, 6, 6, 1)}),
    Model("stretched", stretched, {"x": PIXELS}),
    Model(
        "augmented",
        augmented,
        {"x": PIXELS},
        types=["float32"],  # Keras mixes types
        error="The gradient runs the function again",
        random=True,
    ),
]
