"""Layers that draw random numbers."""

from typing import Any

import keras
import tensorflow as tf

from tensorflow_ext import ops
from tensorflow_ext.layers._common import SameShape, check, finite, integer


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class RReLU(SameShape):
    """Randomized leaky rectified linear unit, by `rrelu`: x where x >= 0, else a x.

    In training, a is drawn for each element, uniformly from `lower` to `upper`;
    otherwise it is their mean. The seeds come from a keras.random.SeedGenerator, whose
    state is saved in *.keras and *.weights.h5: a loaded layer continues the same
    sequence of numbers. Keras' older *.h5, `get_weights` and `clone_model` do not save
    the state. Loading from them, or from a file without it, keeps the layer's state.
    Replicas of a tf.distribute.Strategy draw the same numbers, as with Keras' layers.

    Args:
      lower: Smallest slope, finite.
      upper: Largest slope, at least `lower`.
      seed: An integer gives the same numbers each time; None gives different ones, or
        those of keras.utils.set_random_seed.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(
        self, lower: float = 0.125, upper: float = 1 / 3, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.lower = finite(self, "lower", lower)
        self.upper = finite(self, "upper", upper)
        valid = self.lower <= self.upper
        check(self, "upper", upper, valid, f"at least 'lower', {lower}")
        self.seed = None if seed is None else integer(self, "seed", seed)
        self.seed_generator = keras.random.SeedGenerator(self.seed)

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        seed = self.seed_generator.next() if training else None
        return ops.rrelu(inputs, self.lower, self.upper, bool(training), seed)

    # Keras does not save the state of a SeedGenerator.
    def save_own_variables(self, store: Any) -> None:
        store["seed"] = self.seed_generator.state.numpy()

    def load_own_variables(self, store: Any) -> None:
        if "seed" in store:
            self.seed_generator.state.assign(store["seed"])
