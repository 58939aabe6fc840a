"""The rows of the table of layers."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

_RNG = np.random.default_rng(0)


@dataclasses.dataclass(frozen=True)
class Case:
    """A layer, its inputs and its expected results.

    Attributes:
      layer: The class.
      arguments: Arguments of the class.
      inputs: The inputs, a batch of 4; several are passed as a list, unless they have keywords.
      reference: A function of the inputs and the layer's weights with the same result.
      invalid: Arguments that are refused, each instead of those above.
      wrong: Shapes of inputs that are refused.
      keywords: Keywords of all inputs but the first, if they are not passed as a list.
      masking: True if masks are passed on; None: masks are accepted, but not passed on.
      tolerance: The distance from the reference that is allowed, relative to 1 or larger values.
      separable: True if the result of an example does not depend on the others.
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
        """Calls the layer with tensors, arrays, or Keras' symbolic tensors."""
        if self.keywords:
            rest = dict(zip(self.keywords, inputs[1:], strict=True))
            return layer(inputs[0], **rest, **arguments)
        return layer(inputs[0] if len(inputs) == 1 else list(inputs), **arguments)

    def model(self, batch_size: int | None = None, **arguments: Any) -> keras.Model:
        """A model of the layer; weights multiply its first input unless that is an index."""
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
    """Multiples of 1/8, which every type can hold."""
    return np.clip(np.round(_RNG.normal(size=shape) * 8) / 8, -4, 4).astype(np.float32)


def assert_close(actual: Any, expected: Any, tolerance: float) -> None:
    """Compares within a tolerance relative to 1 or larger values, in float64."""
    actual, expected = (np.asarray(x, np.float64) for x in (actual, expected))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
