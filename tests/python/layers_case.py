# SPDX-License-Identifier: Apache-2.0
"""What a row of the table of layers is."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

_RNG = np.random.default_rng(0)


@dataclasses.dataclass(frozen=True)
class Case:
    """A layer, what it is called with, and what it does.

    Attributes:
      layer: Its class.
      arguments: Those of the class.
      inputs: What it is called with, of a batch of 4; several in a list, unless they
        have keywords.
      reference: The same of the inputs and the layer's weights.
      invalid: Arguments that are refused, each instead of those above.
      wrong: Shapes of inputs that are refused.
      keywords: Of the inputs but the first, if they are not given in a list.
      masking: Whether masks are handed on; None: taken, and none handed on.
      tolerance: How far from the reference it may be, relative to 1 or larger values.
      separable: Whether each example has a result of its own, whatever the others are.
    """

    layer: type[keras.layers.Layer]
    arguments: dict[str, Any]
    inputs: tuple[np.ndarray, ...]
    reference: Callable[..., tf.Tensor]
    invalid: Sequence[dict[str, Any]] = ()
    wrong: Sequence[Sequence[tuple[int, ...]]] = ()
    keywords: tuple[str, ...] = ()
    masking: bool | None = True
    tolerance: float = 0.0
    separable: bool = True

    def tensors(self) -> list[tf.Tensor]:
        return [tf.constant(x) for x in self.inputs]

    def make(self, **arguments: Any) -> keras.layers.Layer:
        return self.layer(**{**self.arguments, **arguments})

    def call(self, layer: Callable[..., Any], inputs: Sequence[Any], **arguments: Any) -> Any:
        """Calls the layer with tensors, arrays, or what Keras has for them."""
        if self.keywords:
            rest = dict(zip(self.keywords, inputs[1:], strict=True))
            return layer(inputs[0], **rest, **arguments)
        return layer(inputs[0] if len(inputs) == 1 else list(inputs), **arguments)

    def model(self, batch_size: int | None = None, **arguments: Any) -> keras.Model:
        """A model of the layer, behind weights that the first input is multiplied
        with if it is no index."""
        inputs = [
            keras.Input(x.shape[1:], batch_size=batch_size, dtype=x.dtype.name) for x in self.inputs
        ]
        first = inputs[0]
        if self.inputs[0].dtype == np.float32:
            identity = keras.layers.Dense(
                first.shape[-1], kernel_initializer="identity", use_bias=False
            )
            first = identity(first)
        output = self.call(self.make(**arguments), [first, *inputs[1:]])
        return keras.Model(inputs, output)


def values(*shape: int) -> np.ndarray:
    """Multiples of 1/8 that each type of number has."""
    return np.clip(np.round(_RNG.normal(size=shape) * 8) / 8, -4, 4).astype(np.float32)


def assert_close(actual: Any, expected: Any, tolerance: float) -> None:
    """Within a tolerance relative to 1 or larger values, in float64."""
    actual, expected = (np.asarray(x, np.float64) for x in (actual, expected))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
