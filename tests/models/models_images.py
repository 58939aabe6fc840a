"""Models that resize and augment images."""

from typing import Any

from keras import layers
from model import RUNS_AGAIN, Layers, lacking_layers, model
from random_values import normal

PIXELS = abs(50 * normal(2, 8, 8, 3))


@model({"x": 255 * normal(2, 6, 6, 1)})
def resized() -> Layers:
    """An image of pixels is resized for the network."""
    return [
        layers.Rescaling(1 / 255),
        layers.Resizing(4, 5),
        layers.CenterCrop(3, 4),
        layers.Conv2D(2, 2, activation="relu"),
        layers.Resizing(4, 4, interpolation="bicubic"),
        layers.Conv2D(1, 2),
        layers.Resizing(4, 4, interpolation="nearest"),
    ]


@model({"x": PIXELS}, types=["float32"], error=RUNS_AGAIN, random=True)  # Keras mixes types
def augmented() -> Layers:
    """Keras saves augmentation layers in training mode."""
    return [
        layers.RandomFlip(),
        layers.RandomRotation(0.1),
        layers.RandomBrightness(0.2),
        layers.Conv2D(2, 3),
    ]


@model({"x": PIXELS})
def stretched(x: Any) -> Any:
    """Layers that change images, or might, without drawing numbers."""
    parts = [
        layers.AutoContrast()(x),
        layers.RandomColorJitter()(x),
        layers.MaxNumBoundingBoxes(3)(x),
        layers.Pipeline([layers.Rescaling(0.5)])(x),
    ]
    if not lacking_layers():
        parts.append(layers.ContrastLimitedAdaptiveHistogramEqualization()(x))
    return layers.Conv2D(1, 2)(layers.Concatenate()(parts))
