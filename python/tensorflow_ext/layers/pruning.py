# SPDX-License-Identifier: Apache-2.0
"""Layers that make weights sparse."""

from typing import Any, Literal

import keras
import tensorflow as tf

from tensorflow_ext.layers._common import SameShape
from tensorflow_ext.ops import pruning as ops


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class MagnitudePruning(SameShape):
    """Sets the values of least magnitude to zero, by `prune_by_magnitude`.

    Called on another layer's weights, or on activations. What is to be pruned is
    said by a threshold or by a sparsity; both are kept in `level`, a weight that
    is not trained, which may be assigned to while training:

        pruning = MagnitudePruning(sparsity=0.0)
        outputs = inputs @ pruning(kernel)
        pruning.level.assign(0.9)

    Args:
      threshold: The least magnitude that stays.
      sparsity: The fraction of the values that is set to zero, in [0, 1]; of
        equal magnitudes at the limit all stay. Either this or `threshold`.
      gradient: What becomes of the gradient of pruned values:
        'straight_through' hands it on, 'masked' drops it.
      **kwargs: Those of keras.layers.Layer, e.g. `name` and `dtype`.

    Raises:
      ValueError: Not exactly one of `threshold` and `sparsity` is given, or
        `sparsity` is outside [0, 1].
    """

    def __init__(
        self,
        threshold: float | None = None,
        sparsity: float | None = None,
        gradient: Literal["straight_through", "masked"] = "straight_through",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if (threshold is None) == (sparsity is None):
            raise ValueError(
                f"MagnitudePruning: 'threshold' is {threshold} and 'sparsity' is "
                f"{sparsity}, expected exactly one of them"
            )
        if sparsity is not None and not 0 <= sparsity <= 1:
            raise ValueError(
                f"MagnitudePruning: 'sparsity' is {sparsity}, expected a number in "
                "[0, 1]"
            )
        self.threshold = threshold
        self.sparsity = sparsity
        self.gradient = gradient
        self.level = self.add_weight(
            name="level",
            shape=(),
            dtype="float32",
            initializer=keras.initializers.Constant(
                threshold if sparsity is None else sparsity
            ),
            trainable=False,
            autocast=False,
        )

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        threshold = tf.convert_to_tensor(self.level)
        if self.sparsity is None:
            threshold = tf.cast(threshold, inputs.dtype)
        else:
            threshold = _threshold_of(inputs, threshold)
        return ops.prune_by_magnitude(inputs, threshold, gradient=self.gradient)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "threshold": self.threshold,
            "sparsity": self.sparsity,
            "gradient": self.gradient,
        }


def _threshold_of(values: tf.Tensor, sparsity: tf.Tensor) -> tf.Tensor:
    """The least magnitude that stays where a fraction of the values is pruned."""
    magnitudes = tf.sort(tf.reshape(tf.abs(tf.stop_gradient(values)), [-1]))
    size = tf.size(magnitudes)
    pruned = tf.cast(tf.round(sparsity * tf.cast(size, sparsity.dtype)), tf.int32)
    # Beyond the largest, infinity: all are pruned.
    padded = tf.concat([magnitudes, [float("inf")]], axis=0)
    return padded[tf.clip_by_value(pruned, 0, size)]
