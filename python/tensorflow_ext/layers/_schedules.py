"""Schedules: numbers that change during training, and the base of layers that use one.

A schedule is a keras.optimizers.schedules.LearningRateSchedule, from this module or from
Keras, or another callable that Keras can save. It takes the step, a scalar integer tensor.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import keras
import tensorflow as tf

from tensorflow_ext.layers._common import SameShape, above, finite, integer, own_arguments

Schedule: TypeAlias = Callable[[Any], Any]


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class DomainAdversarialSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Rises from 0 to `maximum`, fast at first. For `GradientReversal`.

    At step s it is maximum * (2 / (1 + exp(-gamma p)) - 1) with p = min(s / steps, 1).

    Args:
      steps: Total number of training steps, at least 1.
      gamma: How fast it rises; above 0.
      maximum: The value that it approaches; finite.

    Source: Y. Ganin and V. Lempitsky, "Unsupervised Domain Adaptation by
    Backpropagation", ICML 2015, section 4.
    """

    def __init__(self, steps: int, gamma: float = 10.0, maximum: float = 1.0) -> None:
        self.steps = integer(self, "steps", steps, 1)
        self.gamma = above(self, "gamma", gamma, 0)
        self.maximum = finite(self, "maximum", maximum)

    def __call__(self, step: Any) -> tf.Tensor:
        progress = tf.minimum(tf.cast(step, tf.float32) / self.steps, 1.0)
        # 2 / (1 + exp(-2 z)) - 1 = tanh(z), which keeps its digits near 0.
        return self.maximum * tf.tanh(self.gamma / 2 * progress)

    def get_config(self) -> dict[str, Any]:
        return own_arguments(self)


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class PolynomialSparsity(keras.optimizers.schedules.LearningRateSchedule):
    """Rises from one sparsity to another, fast at first. For `MagnitudePruning`.

    At step s, from `begin_step` to `end_step`, it is

        final + (initial - final) * (1 - (s - begin_step) / (end_step - begin_step))
        ** power

    and changes only every `frequency` steps. It is 0 before and `final_sparsity` after.

    Args:
      initial_sparsity: Sparsity at `begin_step`, in [0, 1].
      final_sparsity: Sparsity from `end_step` on, in [0, 1].
      begin_step: The first step that prunes, at least 0.
      end_step: The step that reaches `final_sparsity`; above `begin_step`.
      power: Above 0. A larger power prunes more of the values early.
      frequency: Steps from one change to the next, at least 1.

    Source: M. Zhu and S. Gupta, "To prune, or not to prune: exploring the efficacy of
    pruning for model compression", arXiv:1710.01878, equation 1.
    """

    def __init__(
        self,
        initial_sparsity: float,
        final_sparsity: float,
        begin_step: int,
        end_step: int,
        power: float = 3.0,
        frequency: int = 100,
    ) -> None:
        self.initial_sparsity = finite(self, "initial_sparsity", initial_sparsity, 0, 1)
        self.final_sparsity = finite(self, "final_sparsity", final_sparsity, 0, 1)
        self.begin_step = integer(self, "begin_step", begin_step, 0)
        self.end_step = integer(self, "end_step", end_step, self.begin_step + 1)
        self.power = above(self, "power", power, 0)
        self.frequency = integer(self, "frequency", frequency, 1)

    def __call__(self, step: Any) -> tf.Tensor:
        step = tf.cast(step, tf.int64)
        steps = self.end_step - self.begin_step
        passed = tf.clip_by_value(step - self.begin_step, 0, steps)
        changed = passed // self.frequency * self.frequency
        changed = tf.where(passed < steps, changed, passed)
        left = 1.0 - tf.cast(changed, tf.float32) / steps
        risen = self.initial_sparsity - self.final_sparsity
        sparsity = self.final_sparsity + risen * left**self.power
        return tf.where(step < self.begin_step, 0.0, sparsity)

    def get_config(self) -> dict[str, Any]:
        return own_arguments(self)


class Scheduled(SameShape):
    """A layer with an argument that is a number or a schedule.

    Attributes:
      step: Counts the calls in training, if there is a schedule; a non-trainable weight.
    """

    def _number_or_schedule(
        self, argument: str, value: Any, least: float, most: float
    ) -> float | Schedule:
        """The argument; adds `step` for a schedule. A ValueError if it is neither."""
        if isinstance(value, dict):
            value = keras.saving.deserialize_keras_object(value)
        if not callable(value):
            return finite(self, argument, value, least, most, "a schedule")
        self.step = self.add_weight(
            name="step",
            shape=(),
            dtype="int64",
            initializer="zeros",
            trainable=False,
            aggregation="only_first_replica",
        )
        return value
