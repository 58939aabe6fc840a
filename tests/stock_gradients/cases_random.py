# SPDX-License-Identifier: Apache-2.0
"""Samples, differentiated by the parameters of their distribution."""

from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case

raw = tf.raw_ops

ALPHA = np.array([0.3, 1.0, 2.5])
MATRIX = np.array([[0.4, 0.9, 1.5], [3.0, 7.0, 20.0]])


def _gamma(alpha: Any) -> Any:
    return raw.RandomGamma(shape=[4, 2], alpha=alpha, seed=3, seed2=5)


def _gamma_once(alpha: Any) -> Any:
    return raw.RandomGamma(shape=tf.zeros([0], tf.int64), alpha=alpha, seed=3, seed2=5)


def _gamma_v2(alpha: Any) -> Any:
    shape = tf.concat([[5], tf.shape(alpha)], 0)
    return raw.StatelessRandomGammaV2(shape=shape, seed=[1, 2], alpha=alpha)


def _gamma_v3(alpha: Any) -> Any:
    return raw.StatelessRandomGammaV3(
        shape=tf.concat([[2, 3], tf.shape(alpha)], 0),
        key=tf.constant([17], tf.uint64),
        counter=tf.constant([3, 4], tf.uint64),
        alg=1,
        alpha=alpha,
    )


def _gamma_v3_once(alpha: Any) -> Any:
    return raw.StatelessRandomGammaV3(
        shape=tf.shape(alpha, tf.int64),
        key=tf.constant([17], tf.uint64),
        counter=tf.constant([3, 4], tf.uint64),
        alg=1,
        alpha=alpha,
    )


# The derivative of a sample by alpha has no derivative, in Python as here.
GAMMA = [
    Case(op, name, build, [alpha], second_order=None, known_shapes=known)
    for op, build, once in (
        ("RandomGamma", _gamma, _gamma_once),
        ("StatelessRandomGammaV2", _gamma_v2, _gamma_v2),
        ("StatelessRandomGammaV3", _gamma_v3, _gamma_v3_once),
    )
    for name, build, alpha, known in (
        ("double", build, ALPHA, False),
        ("matrix", build, MATRIX, False),
        ("scalar", build, np.array(1.7), False),
        ("float_known_shape", build, ALPHA.astype(np.float32), True),
        ("unknown_rank", build, MATRIX, "rank"),
        ("no_sample_axes", once, MATRIX, False),
        ("empty", build, ALPHA[:0], False),
    )
]

TRUNCATED = "StatelessParameterizedTruncatedNormal"


@tf.RegisterGradient("QuantileOfTruncatedNormal")
def _quantile_gradient(op: Any, dy: Any) -> list[Any]:
    """The gradient of F^-1(u; mean, stddev, minval, maxval) at fixed u.

    The reference of the cases: TensorFlow's own gradient by mean and stddev
    holds for fixed standardized bounds, not for fixed bounds.
    """
    parameters = list(op.inputs)[2:]
    mean, stddev, minval, maxval = parameters

    def cdf(value: Any) -> Any:
        return 0.5 * tf.math.erfc((mean - value) / (stddev * np.sqrt(2)))

    low, high = cdf(minval), cdf(maxval)
    u = tf.stop_gradient((cdf(op.outputs[0]) - low) / (high - low))
    quantile = mean + stddev * tf.math.ndtri(low + u * (high - low))
    return [None, None, *tf.gradients(quantile, parameters, dy)]


def _truncated(mean: Any, stddev: Any, minval: Any, maxval: Any) -> Any:
    overrides = {TRUNCATED: "QuantileOfTruncatedNormal"}
    with tf.compat.v1.get_default_graph().gradient_override_map(overrides):
        return raw.StatelessParameterizedTruncatedNormal(
            shape=[5, 3],
            seed=[3, 4],
            means=mean,
            stddevs=stddev,
            minvals=minval,
            maxvals=maxval,
        )


def _truncated_as_python(*parameters: Any) -> Any:
    return raw.StatelessParameterizedTruncatedNormal(
        shape=[5, 3],
        seed=[3, 4],
        means=parameters[0],
        stddevs=parameters[1],
        minvals=parameters[2],
        maxvals=parameters[3],
    )


MEAN = np.array([0.5, -1.0, 2.0])
STDDEV = np.array([1.0, 0.5, 2.0])
MINVAL = np.array([-1.0, -1.5, 0.0])
MAXVAL = np.array([1.5, 0.0, 2.5])
SCALARS = [np.array(value) for value in (0.5, 1.5, -2.0, 1.0)]

NORMAL = [
    Case(TRUNCATED, "double", _truncated, [MEAN, STDDEV, MINVAL, MAXVAL]),
    Case(TRUNCATED, "scalars", _truncated, SCALARS),
    Case(
        TRUNCATED,
        "broadcast",
        _truncated,
        [MEAN, SCALARS[1], MINVAL[None], MAXVAL + np.zeros((5, 1))],
    ),
    Case(
        TRUNCATED,
        "unknown_rank",
        _truncated,
        [MEAN, STDDEV, MINVAL, MAXVAL],
        known_shapes="rank",
    ),
    Case(
        TRUNCATED,
        "float_known_shape",
        _truncated,
        [v.astype(np.float32) for v in (MEAN, STDDEV, MINVAL, MAXVAL)],
        known_shapes=True,
        second_order=None,
    ),
    Case(
        TRUNCATED,
        "bounds_as_python",
        _truncated_as_python,
        [MEAN, STDDEV, MINVAL, MAXVAL],
        wrt=[2, 3],
        second_order=None,
    ),
    # With bounds far away, Python's gradient by mean and stddev is right too.
    Case(
        TRUNCATED,
        "far_bounds_as_python",
        _truncated_as_python,
        [MEAN, STDDEV, np.full(3, -90.0), np.full(3, 90.0)],
        second_order=None,
    ),
]

CASES = GAMMA + NORMAL
