# SPDX-License-Identifier: Apache-2.0
"""What a row of the tables models_*.py says about a model."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

BOTH_TYPES = ("float32", "float64")

# What Keras 3.12, the last for Python 3.10, lacks.
NEW_LAYERS = (
    *(f"Adaptive{kind}Pooling{n}D" for kind in ("Average", "Max") for n in (1, 2, 3)),
    "ContrastLimitedAdaptiveHistogramEqualization",
)


def lacking_layers() -> list[str]:
    """Those of NEW_LAYERS that this Keras lacks: models are then built without."""
    return [name for name in NEW_LAYERS if not hasattr(keras.layers, name)]


@dataclasses.dataclass(frozen=True)
class Model:
    """A model that Python saves and a client in C differentiates.

    Attributes:
      name: Unique among all models.
      build: Takes "float32" or "float64", which is Keras' floatx by then, and
        returns a keras.Model, or a tf.Module with a `tf.function` that has an input
        signature; what it returns is a tensor or a dictionary of them.
      inputs: The values fed, by the name of the signature's argument. Floating ones
        are given in double and fed in the model's type, where `build` does not
        compute in another one.
      types: What `build` is called with.
      signatures: Those that are differentiated.
      loops: Whether there is a `While` in the saved functions. Python's tapes give no
        second order there ("Tried to take gradients of a variable without handle
        data"), so that of the model before it was saved takes its place.
      error: A fragment of the message that the client gives instead of gradients. Once
        the calls are inlined there is none.
      random: Whether the model draws numbers, so that no two gradients are equal.
      tolerance: Instead of that of the type, and why in a comment of the row.
      newer_keras: The types in which Keras 3.12, the last for Python 3.10, cannot
        save it.
    """

    name: str
    build: Callable[[str], Any]
    inputs: Mapping[str, np.ndarray]
    types: Sequence[str] = BOTH_TYPES
    signatures: Sequence[str] = ("serving_default",)
    loops: bool = False
    error: str | None = None
    random: bool = False
    tolerance: float | None = None
    newer_keras: Sequence[str] = ()


def chain(shape: Sequence[int | None], *layers: Any) -> keras.Model:
    """Layers one after the other on an input `x` of this shape, less the batch."""
    x = y = keras.Input(shape, name="x")
    for layer in layers:
        y = layer(y)
    return keras.Model(x, y)


def module(
    function: Callable[..., Any], variables: Mapping[str, Any], **arguments: tf.TensorSpec
) -> tf.Module:
    """A tf.Module whose signature is `function` of itself and these arguments.

    Args:
      function: Takes the module, whose attributes are the variables, and tensors.
      variables: The initial values, or variables.
      **arguments: What the signature takes, by name.
    """
    made = tf.Module()
    for name, value in variables.items():
        is_variable = isinstance(value, tf.Variable)
        setattr(made, name, value if is_variable else tf.Variable(value, name=name))
    specs = [tf.TensorSpec(spec.shape, spec.dtype, name) for name, spec in arguments.items()]

    @tf.function(input_signature=specs)
    def serve(*tensors: tf.Tensor) -> Any:
        return function(made, *tensors)

    made.serve = serve
    return made
