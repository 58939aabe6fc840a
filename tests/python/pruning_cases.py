# SPDX-License-Identifier: Apache-2.0
"""Sparse weights. The threshold lies at no value of `apart`."""

import numpy as np
import tensorflow as tf
from op_case import Case, apart, with_value

import tensorflow_ext as tfx


def _pruned(weights: tf.Tensor, threshold: tf.Tensor) -> tf.Tensor:
    return tf.where(tf.abs(weights) >= threshold, weights, tf.zeros_like(weights))


CASES = [
    Case(
        "prune_by_magnitude",
        tfx.prune_by_magnitude,
        lambda weights, threshold: with_value(weights, _pruned(weights, threshold)),
        (apart((3, 4), 0), np.array(0.25)),
        none=(1,),
    ),
    Case(
        "prune_by_magnitude, masked",
        lambda weights, threshold: tfx.prune_by_magnitude(
            weights, threshold, gradient="masked"
        ),
        lambda weights, threshold: _pruned(weights, tf.stop_gradient(threshold)),
        (apart((3, 4), 1), np.array(0.25)),
        none=(1,),
    ),
]
