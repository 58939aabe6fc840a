"""Activation functions that draw random numbers."""

import math

import numpy as np
import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["rrelu"]

_ANY_SEED = np.zeros(2, np.int32)  # unused when nothing is drawn


@op
def rrelu(
    x: TensorLike,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool | TensorLike | None = None,
    seed: int | TensorLike | None = None,
    rng: tf.random.Generator | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Randomized leaky rectified linear unit: x where x >= 0, else a x.

    In training, the slope a is drawn for each element, uniformly from `lower` to
    `upper`; otherwise it is their mean. The slopes depend only on the seed, not on
    the device, the number of threads or whether XLA compiles the op.

    Gradient: dy where x >= 0, else a dy, with the slopes of the forward pass. They
    are drawn again, not stored.

    Args:
      x: Tensor of type F and any shape. -infinity times a slope of 0 is NaN.
      lower: Smallest slope, a finite number; rounded to float.
      upper: Largest slope, >= lower.
      training: Whether to draw slopes; None means no. A tensor decides at run time.
      seed: An int, with which each call draws different slopes that are the same in
        every run under tf.random.set_seed, like tf.random.uniform(seed=...). Or a
        tensor of type int32 or int64 and shape [2], which determines the slopes of
        every call. With shape [B, 2], x[i] has the slopes that it would have alone with
        seed[i]. None draws different slopes in each call, with TensorFlow's global
        generator.
      rng: A generator to draw the seed from, instead of `seed`.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Raises:
      ValueError: `lower` > `upper` or not finite, or `seed` and `rng` are both given.

    Source: B. Xu et al., "Empirical Evaluation of Rectified Activations in
    Convolutional Network", arXiv:1505.00853.
    """
    lower, upper = float(lower), float(upper)
    if not (math.isfinite(lower) and math.isfinite(upper) and lower <= upper):
        raise ValueError(
            f"rrelu: argument 'lower' is {lower} and 'upper' is {upper}, expected "
            "finite numbers, lower <= upper."
        )
    if seed is not None and rng is not None:
        raise ValueError(
            f"rrelu: arguments 'seed' ({seed!r}) and 'rng' are both given, expected "
            "one: leave out 'seed' to draw it from the generator."
        )
    x = tf.convert_to_tensor(x, name="x")

    def leaky() -> tf.Tensor:
        mean = (lower + upper) / 2
        return raw_ops.rrelu(x, _ANY_SEED, lower=mean, upper=mean, name=name)

    if training is not None and not isinstance(training, bool | int | np.bool_):
        training = tf.convert_to_tensor(training)
        if (value := tf.get_static_value(training)) is None:
            # The seed is drawn in both cases, outside of the branches: gradients of
            # functions run their ops again, which would draw another seed.
            drawn = _draw_seed(seed, rng)
            return tf.cond(
                tf.cast(training, tf.bool),
                lambda: raw_ops.rrelu(x, drawn, lower=lower, upper=upper, name=name),
                leaky,
            )
        training = value
    if not training:
        return leaky()
    drawn = _draw_seed(seed, rng)
    return raw_ops.rrelu(x, drawn, lower=lower, upper=upper, name=name)


def _draw_seed(seed: int | TensorLike | None, rng: tf.random.Generator | None) -> TensorLike:
    """The op's seed of 64 bits, from rrelu's arguments."""
    if rng is not None:
        return rng.uniform_full_int([2], tf.int32)
    if seed is not None and not isinstance(seed, int | np.integer):
        return seed
    return tf.random.uniform(
        [2], -(2**31), 2**31 - 1, tf.int32, seed=None if seed is None else int(seed)
    )


OPS = {
    "Rrelu": {
        "rule": "elementwise",
        "formula": (
            r"y = \begin{cases} x & x \ge 0 \\ a x & x < 0 \end{cases}, \quad "
            r"a \sim U(l, u)",
            r"dx = \begin{cases} dy & x \ge 0 \\ a \, dy & x < 0 \end{cases}",
        ),
    }
}
