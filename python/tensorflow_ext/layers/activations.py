"""Activation functions."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tensorflow_ext import ops
from tensorflow_ext.layers._common import (
    OfTwo,
    SameShape,
    Shape,
    boolean,
    check,
    check_shape,
    integer,
    is_number,
    known_last,
    same_shape,
)


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class GELU(SameShape):
    """Gaussian error linear unit, by `gelu`.

    Args:
      approximate: Whether to use the form with tanh instead of the exact one.
        `keras.activations.gelu` is exact by default.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(self, approximate: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.approximate = boolean(self, "approximate", approximate)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return ops.gelu(inputs, approximate=self.approximate)


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class Mish(SameShape):
    """x * tanh(softplus(x)), by `mish`.

    Args:
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return ops.mish(inputs)


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class LiSHT(SameShape):
    """x * tanh(x), by `lisht`.

    Args:
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return ops.lisht(inputs)


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class TanhShrink(SameShape):
    """x - tanh(x), by `tanhshrink`.

    Args:
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return ops.tanhshrink(inputs)


class _Shrinkage(SameShape):
    """A layer that gives 0 between two bounds."""

    def __init__(self, lower: float = -0.5, upper: float = 0.5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check(self, "lower", lower, is_number(lower), "a number")
        valid = is_number(upper) and upper >= lower
        check(self, "upper", upper, valid, f"a number, at least 'lower', {lower}")
        self.lower = float(lower)
        self.upper = float(upper)


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class HardShrink(_Shrinkage):
    """x where it is below `lower` or above `upper`, else 0, by `hardshrink`.

    Args:
      lower: Lower bound; may be -infinity.
      upper: Upper bound, at least `lower`; may be infinity.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return ops.hardshrink(inputs, lower=self.lower, upper=self.upper)


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class SoftShrink(_Shrinkage):
    """x minus the bound that it exceeds, 0 between the bounds, by `softshrink`.

    Args:
      lower: Lower bound; may be -infinity.
      upper: Upper bound, at least `lower`; may be infinity.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return ops.softshrink(inputs, lower=self.lower, upper=self.upper)


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class Snake(SameShape):
    """x + sin(f x)^2 / f with a trained frequency f, by `snake`.

    Args:
      frequency_initializer: Initializer of `frequency`.
      per_channel: Whether each element of the last dimension has its own frequency.
        If not, all share one, as in TF Addons.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(
        self, frequency_initializer: Any = "ones", per_channel: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.frequency_initializer = keras.initializers.get(frequency_initializer)
        self.per_channel = boolean(self, "per_channel", per_channel)

    def build(self, input_shape: Shape) -> None:
        shape: tuple[Any, ...] = ()
        if self.per_channel:
            shape = (known_last(self, input_shape),)
        self.frequency = self.add_weight(
            name="frequency", shape=shape, initializer=self.frequency_initializer
        )

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return ops.snake(inputs, self.frequency)


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class Sparsemax(SameShape):
    """The nearest point of the probability simplex, by `sparsemax`.

    Args:
      axis: The axis along which the result sums to 1.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = integer(self, "axis", axis)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        self.compute_output_shape(inputs.shape)
        return ops.sparsemax(inputs, self.axis)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        rank = len(input_shape)
        expected = f"an axis {self.axis}"
        valid = -rank <= self.axis < rank
        check_shape(self, "inputs", input_shape, valid, expected)
        return input_shape


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class SwiGLU(OfTwo):
    """gate * sigmoid(gate) * value, by `swiglu`.

    Call it with [gate, value], two tensors of the same shape. If both have a mask, the
    result has their logical or, as in `keras.layers.Multiply`.

    Args:
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    input_names = ("gate", "value")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: Sequence[tf.Tensor]) -> tf.Tensor:
        self._check_two(inputs)
        self.compute_output_shape([x.shape for x in inputs])
        return ops.swiglu(*inputs)

    def compute_mask(self, inputs: Any, previous_mask: Any) -> tf.Tensor | None:
        masks = previous_mask or [None]
        return None if any(x is None for x in masks) else keras.ops.logical_or(*masks)

    def compute_output_shape(self, input_shape: Sequence[Shape]) -> Shape:
        self._check_two(input_shape)
        gate, value = input_shape
        expected = f"that of 'gate', {tuple(gate)}"
        check_shape(self, "value", value, same_shape(gate, value), expected)
        return tuple(a if b is None else b for a, b in zip(gate, value, strict=True))
