# SPDX-License-Identifier: Apache-2.0
"""Samples, differentiated by the parameters of their distribution."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case

raw = tf.raw_ops


@tf.custom_gradient
def _slope(alpha: Any, sample: Any) -> Any:
    """RandomGammaGrad, with differences for its derivatives."""
    slope = raw.RandomGammaGrad(alpha=alpha, sample=sample)

    def gradient(dy: Any) -> tuple[Any, Any]:
        def by(change_alpha: Any, change_sample: Any) -> Any:
            high, low = (
                raw.RandomGammaGrad(
                    alpha=alpha + sign * change_alpha, sample=sample + sign * change_sample
                )
                for sign in (1, -1)
            )
            return (high - low) / (2 * (change_alpha + change_sample))

        zeros = tf.zeros_like(sample)
        by_alpha = tf.reduce_sum(
            tf.reshape(dy * by(1e-5 * alpha, zeros), tf.concat([[-1], tf.shape(alpha)], 0)), 0
        )
        return by_alpha, dy * by(tf.zeros_like(alpha), 1e-5 * sample)

    return slope, gradient


@tf.RegisterGradient("QuantileOfGamma")
def _gamma_gradient(op: Any, dy: Any) -> list[Any]:
    """TensorFlow's own, with a second order."""
    alpha = op.inputs[-1]
    product = dy * _slope(alpha, op.outputs[0])
    leading = tf.concat([[-1], tf.shape(alpha)], 0)
    by_alpha = tf.reduce_sum(tf.reshape(product, leading), 0)
    return [*([None] * (len(op.inputs) - 1)), by_alpha]


def _twice(op: str, build: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def overridden(alpha: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        with graph.gradient_override_map({op: "QuantileOfGamma"}):
            return build(alpha)

    return overridden


def _samples(op: str, alpha: np.ndarray) -> dict[str, np.ndarray]:
    """Fed in the place of those that an op with a state draws anew in each run."""
    if op != "RandomGamma":
        return {}
    spread = np.linspace(0.1, 2, 8 * alpha.size).reshape(4, 2, *alpha.shape)
    return {f"{op}:0": alpha * spread}


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


# In Python the derivative of a sample by alpha has no derivative.
GAMMA_ONCE = [
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

GAMMA = [
    *GAMMA_ONCE,
    *(
        Case(
            op,
            f"{name}_twice",
            _twice(op, build),
            [alpha],
            known_shapes=known,
            also_fed=_samples(op, alpha),
        )
        for op, build in (
            ("RandomGamma", _gamma),
            ("StatelessRandomGammaV2", _gamma_v2),
            ("StatelessRandomGammaV3", _gamma_v3),
        )
        for name, alpha, known in (
            ("vector", ALPHA, False),
            ("matrix", MATRIX, True),
            ("unknown_rank", MATRIX, "rank"),
        )
    ),
]

TRUNCATED = "StatelessParameterizedTruncatedNormal"
WITH_STATE = "ParameterizedTruncatedNormal"


def _along_samples(parameter: Any, op: Any) -> Any:
    """The parameters of the op with a state are those of the first axis."""
    if op.type == TRUNCATED:
        return parameter
    others = tf.ones_like(tf.shape(op.outputs[0])[1:])
    return tf.reshape(parameter, tf.concat([[tf.size(parameter)], others], 0))


@tf.RegisterGradient("QuantileOfTruncatedNormal")
def _quantile_gradient(op: Any, dy: Any) -> list[Any]:
    """The gradient of F^-1(u; mean, stddev, minval, maxval) at fixed u.

    The reference of the cases: TensorFlow's own gradient by mean and stddev
    holds for fixed standardized bounds, not for fixed bounds.
    """
    parameters = list(op.inputs)[-4:]
    mean, stddev, minval, maxval = (_along_samples(p, op) for p in parameters)

    def cdf(value: Any) -> Any:
        return 0.5 * tf.math.erfc((mean - value) / (stddev * np.sqrt(2)))

    low, high = cdf(minval), cdf(maxval)
    u = tf.stop_gradient((cdf(op.outputs[0]) - low) / (high - low))
    quantile = mean + stddev * tf.math.ndtri(low + u * (high - low))
    others = [None] * (len(op.inputs) - 4)
    return [*others, *tf.gradients(quantile, parameters, dy)]


def _truncated(mean: Any, stddev: Any, minval: Any, maxval: Any) -> Any:
    overrides = {TRUNCATED: "QuantileOfTruncatedNormal"}
    with tf.compat.v1.get_default_graph().gradient_override_map(overrides):
        return raw.StatelessParameterizedTruncatedNormal(
            shape=[5, 3], seed=[3, 4], means=mean, stddevs=stddev, minvals=minval, maxvals=maxval
        )


def _truncated_with_state(shape: list[int]) -> Callable[..., Any]:
    def build(mean: Any, stddev: Any, minval: Any, maxval: Any) -> Any:
        overrides = {WITH_STATE: "QuantileOfTruncatedNormal"}
        with tf.compat.v1.get_default_graph().gradient_override_map(overrides):
            return raw.ParameterizedTruncatedNormal(
                shape=shape,
                means=mean,
                stdevs=stddev,
                minvals=minval,
                maxvals=maxval,
                seed=3,
                seed2=4,
            )

    return build


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
        TRUNCATED, "unknown_rank", _truncated, [MEAN, STDDEV, MINVAL, MAXVAL], known_shapes="rank"
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

PARAMETERS = [MEAN, STDDEV, MINVAL, MAXVAL]


def _with_state() -> Iterator[Case]:
    for name, shape, parameters, more in (
        ("vectors", [3, 4], PARAMETERS, {}),
        ("scalars", [3, 4], SCALARS, {"known_shapes": True}),
        ("mixed", [3, 2, 2], [MEAN, SCALARS[1], MINVAL, SCALARS[3] + 3], {}),
        ("one_of_each", [3], PARAMETERS, {"known_shapes": "rank"}),
        ("vectors_of_one", [2, 3], [p[:1] for p in PARAMETERS], {}),
        ("float", [3, 4], [p.astype(np.float32) for p in PARAMETERS], {"second_order": None}),
    ):
        leading = [-1] + [1] * (len(shape) - 1)
        low, high = (parameters[i].reshape(leading) for i in (2, 3))
        # Fed in the place of those that the op draws anew in each run.
        place = np.linspace(0.1, 0.9, np.prod(shape)).reshape(shape)
        sample = (low + place * (high - low)).astype(parameters[0].dtype)
        yield Case(
            WITH_STATE,
            name,
            _truncated_with_state(shape),
            parameters,
            also_fed={f"{WITH_STATE}:0": sample},
            **more,
        )


CASES = GAMMA + NORMAL + [*_with_state()]
