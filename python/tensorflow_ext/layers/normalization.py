"""Normalization of the last dimension."""

from typing import Any

import keras
import tensorflow as tf

from tensorflow_ext import ops
from tensorflow_ext.layers._common import SameShape, Shape, boolean, finite, known_last


class _Normalization(SameShape):
    """A layer with weights over the last dimension of its input."""

    def __init__(self, epsilon: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.epsilon = finite(self, "epsilon", epsilon, 0)

    def _add_parameter(self, name: str, input_shape: Shape) -> Any:
        """A weight, whose initializer, regularizer and constraint are arguments of the layer."""
        return self.add_weight(
            name=name,
            shape=(known_last(self, input_shape),),
            initializer=getattr(self, f"{name}_initializer"),
            regularizer=getattr(self, f"{name}_regularizer"),
            constraint=getattr(self, f"{name}_constraint"),
        )

    def _floating(self, inputs: tf.Tensor) -> tf.Tensor:
        """The inputs. Integers, which Keras does not cast, get a type that does not overflow."""
        if not (inputs.dtype.is_integer or inputs.dtype.is_bool):
            return inputs
        wide = self.compute_dtype == "float64"
        return tf.cast(inputs, tf.float64 if wide else tf.float32)


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class LayerNormalization(_Normalization):
    """`keras.layers.LayerNormalization` over the last dimension, by `layer_norm`.

    It has the same arguments, defaults and weights, so the two layers can exchange
    weights; `axis` is always -1. In mixed precision the weights are rounded to the
    layer's compute type, and the computation is in float32.

    Args:
      epsilon: Added to the variance; finite and at least 0.
      center: Whether there is an offset, `beta`.
      scale: Whether there is a scale, `gamma`.
      beta_initializer: Initializer of `beta`.
      gamma_initializer: Initializer of `gamma`.
      beta_regularizer: Regularizer of `beta`.
      gamma_regularizer: Regularizer of `gamma`.
      beta_constraint: Constraint of `beta`.
      gamma_constraint: Constraint of `gamma`.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(
        self,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(epsilon, **kwargs)
        self.center = boolean(self, "center", center)
        self.scale = boolean(self, "scale", scale)
        self.beta_initializer = keras.initializers.get(beta_initializer)
        self.gamma_initializer = keras.initializers.get(gamma_initializer)
        self.beta_regularizer = keras.regularizers.get(beta_regularizer)
        self.gamma_regularizer = keras.regularizers.get(gamma_regularizer)
        self.beta_constraint = keras.constraints.get(beta_constraint)
        self.gamma_constraint = keras.constraints.get(gamma_constraint)

    def build(self, input_shape: Shape) -> None:
        self.gamma = self._add_parameter("gamma", input_shape) if self.scale else None
        self.beta = self._add_parameter("beta", input_shape) if self.center else None
        self.built = True

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        x = self._floating(inputs)
        size = tf.shape(x)[-1:]
        gamma = tf.ones(size, x.dtype) if self.gamma is None else self.gamma
        beta = tf.zeros(size, x.dtype) if self.beta is None else self.beta
        gamma, beta = (tf.cast(weight, x.dtype) for weight in (gamma, beta))
        y = ops.layer_norm(x, gamma, beta, epsilon=self.epsilon).y
        return tf.cast(y, self.compute_dtype)


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class RmsNormalization(_Normalization):
    """`keras.layers.RMSNormalization` over the last dimension, by `rms_norm`.

    It has the same defaults and weight, so the two layers can exchange weights;
    `axis` is always -1. In mixed precision the weight is rounded to the layer's
    compute type, and the computation is in float32.

    Args:
      epsilon: Added to the mean square; finite and at least 0.
      scale_initializer: Initializer of `scale`.
      scale_regularizer: Regularizer of `scale`.
      scale_constraint: Constraint of `scale`.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(
        self,
        epsilon: float = 1e-6,
        scale_initializer: Any = "ones",
        scale_regularizer: Any = None,
        scale_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(epsilon, **kwargs)
        self.scale_initializer = keras.initializers.get(scale_initializer)
        self.scale_regularizer = keras.regularizers.get(scale_regularizer)
        self.scale_constraint = keras.constraints.get(scale_constraint)

    def build(self, input_shape: Shape) -> None:
        self.scale = self._add_parameter("scale", input_shape)
        self.built = True

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        x = self._floating(inputs)
        scale = tf.cast(self.scale, x.dtype)
        y = ops.rms_norm(x, scale, epsilon=self.epsilon).y
        return tf.cast(y, self.compute_dtype)
