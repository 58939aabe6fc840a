"""Layers that modify the gradient: reversed, or straight-through."""

import math
from typing import Any

import keras
import tensorflow as tf

from tensorflow_ext import ops
from tensorflow_ext.layers._common import SameShape, above
from tensorflow_ext.layers._schedules import Schedule, Scheduled


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class GradientReversal(Scheduled):
    """Identity whose gradient is -scale * dy, by `reverse_gradient`.

    Placed between features and a classifier of their domain, it trains features that
    do not reveal the domain (Y. Ganin and V. Lempitsky, "Unsupervised Domain
    Adaptation by Backpropagation", ICML 2015). The authors increase the scale during
    training:

        GradientReversal(DomainAdversarialSchedule(steps=epochs * steps_per_epoch))

    With a schedule, the layer has a weight, `step`, that counts its calls in training
    and is saved with the model. A layer that is called twice in each training step
    counts both calls.

    Args:
      scale: Factor of the reversed gradient, finite; or a schedule for it.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(self, scale: float | Schedule = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale = self._number_or_schedule("scale", scale, -math.inf, math.inf)

    @property
    def strength(self) -> tf.Tensor:
        """The current factor, a scalar of type float32."""
        scale = self.scale(self.step) if callable(self.scale) else self.scale
        return tf.cast(scale, tf.float32)

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        if not callable(self.scale):
            return ops.reverse_gradient(inputs, scale=self.scale)
        # The op's scale is an attribute, which cannot be a variable.
        strength = tf.stop_gradient(tf.cast(self.strength, inputs.dtype))
        outputs = ops.straight_through(inputs, -strength * inputs)
        if training:
            self.step.assign_add(1)
        return outputs


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class SignQuantizer(SameShape):
    """-1, 0 or 1 with the straight-through gradient, by `sign_straight_through`.

    Args:
      clip: The gradient is dy where abs(inputs) <= clip, else 0; above 0.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(self, clip: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.clip = above(self, "clip", clip, 0)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return ops.sign_straight_through(inputs, clip=self.clip)
