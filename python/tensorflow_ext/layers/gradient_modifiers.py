# SPDX-License-Identifier: Apache-2.0
"""Layers that are there for their gradient: reversed, or straight through."""

from typing import Any

import keras
import tensorflow as tf

from tensorflow_ext.layers._common import SameShape
from tensorflow_ext.ops import gradient_modifiers as ops


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class GradientReversal(SameShape):
    """Identity whose gradient is -scale * dy, by `reverse_gradient`.

    Between features and a classifier of their domain it makes features that do
    not tell the domain (Y. Ganin and V. Lempitsky, "Unsupervised Domain
    Adaptation by Backpropagation", ICML 2015).

    Args:
      scale: Factor of the reversed gradient, finite.
      **kwargs: Those of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(self, scale: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale = scale

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return ops.reverse_gradient(inputs, scale=self.scale)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "scale": self.scale}


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class SignQuantizer(SameShape):
    """-1, 0 or 1 with the straight-through gradient, by `sign_straight_through`.

    Args:
      clip: The gradient is dy where abs(inputs) <= clip, else 0; above 0.
      **kwargs: Those of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(self, clip: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.clip = clip

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return ops.sign_straight_through(inputs, clip=self.clip)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "clip": self.clip}
