"""Samples, differentiated by the parameters of their distribution."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from old_ops import with_gradient
from parity import Case
from rows import call, case, first_order, floats

# ---- Gamma


@tf.custom_gradient
def _slope(alpha: Any, sample: Any) -> Any:
    """RandomGammaGrad, with differences for its derivatives."""
    slope = call("RandomGammaGrad", alpha, sample)

    def gradient(dy: Any) -> tuple[Any, Any]:
        def by(change_alpha: Any, change_sample: Any) -> Any:
            high, low = (
                call("RandomGammaGrad", alpha + sign * change_alpha, sample + sign * change_sample)
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
    """TensorFlow's own gradient, with a second order."""
    alpha = op.inputs[-1]
    product = dy * _slope(alpha, op.outputs[0])
    leading = tf.concat([[-1], tf.shape(alpha)], 0)
    by_alpha = tf.reduce_sum(tf.reshape(product, leading), 0)
    return [*([None] * (len(op.inputs) - 1)), by_alpha]


def _with_state(alpha: Any, once: bool) -> Any:
    shape = tf.zeros([0], tf.int64) if once else [4, 2]
    return call("RandomGamma", shape, alpha, seed=3, seed2=5)


def _v2(alpha: Any, once: bool) -> Any:
    return call("StatelessRandomGammaV2", tf.concat([[5], tf.shape(alpha)], 0), [1, 2], alpha)


def _v3(alpha: Any, once: bool) -> Any:
    return tf.raw_ops.StatelessRandomGammaV3(
        shape=tf.shape(alpha, tf.int64) if once else tf.concat([[2, 3], tf.shape(alpha)], 0),
        key=tf.constant([17], tf.uint64),
        counter=tf.constant([3, 4], tf.uint64),
        alg=1,
        alpha=alpha,
    )


ALPHA = np.array([0.3, 1.0, 2.5])
MATRIX = np.array([[0.4, 0.9, 1.5], [3.0, 7.0, 20.0]])


def gamma(op: str, build: Any) -> Iterator[Case]:
    # In Python, the derivative of a sample by alpha has no derivative.
    row = functools.partial(first_order, op, build=build, once=False)
    yield row("double", ALPHA)
    yield row("matrix", MATRIX)
    yield row("scalar", np.array(1.7))
    yield row("float_known_shape", *floats(ALPHA), static="all")
    yield row("unknown_rank", MATRIX, static="none")
    yield row("no_sample_axes", MATRIX, once=True)
    yield row("empty", ALPHA[:0])

    overridden = with_gradient(op, "QuantileOfGamma", functools.partial(build, once=False))
    for name, alpha, static in (
        ("vector", ALPHA, "rank"),
        ("matrix", MATRIX, "all"),
        ("unknown_rank", MATRIX, "none"),
    ):
        # Fed instead of the samples that a stateful op draws again in each run.
        spread = np.linspace(0.1, 2, 8 * alpha.size).reshape(4, 2, *alpha.shape)
        fed = {f"{op}:0": alpha * spread} if op == "RandomGamma" else {}
        yield case(op, f"{name}_twice", alpha, build=overridden, static=static, also_fed=fed)


# ---- Truncated normal

TRUNCATED = "StatelessParameterizedTruncatedNormal"
WITH_STATE = "ParameterizedTruncatedNormal"


def _along_samples(parameter: Any, op: Any) -> Any:
    """The parameters of the stateful op are those of the first axis."""
    if op.type == TRUNCATED:
        return parameter
    others = tf.ones_like(tf.shape(op.outputs[0])[1:])
    return tf.reshape(parameter, tf.concat([[tf.size(parameter)], others], 0))


@tf.RegisterGradient("QuantileOfTruncatedNormal")
def _quantile_gradient(op: Any, dy: Any) -> list[Any]:
    """The gradient of F^-1(u; mean, stddev, minval, maxval) at fixed u.

    The reference of the cases, because TensorFlow's own gradient by mean and stddev holds for fixed
    standardized bounds, not for fixed bounds.
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


quantile = functools.partial(with_gradient, gradient="QuantileOfTruncatedNormal")
MEAN, STDDEV = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.5, 2.0])
MINVAL, MAXVAL = np.array([-1.0, -1.5, 0.0]), np.array([1.5, 0.0, 2.5])
VECTORS = MEAN, STDDEV, MINVAL, MAXVAL
SCALARS = [np.array(value) for value in (0.5, 1.5, -2.0, 1.0)]
BROADCAST = MEAN, SCALARS[1], MINVAL[None], MAXVAL + np.zeros((5, 1))
# If bounds are far away, Python's gradient by mean and stddev is right, too.
FAR = MEAN, STDDEV, np.full(3, -90.0), np.full(3, 90.0)
as_python = functools.partial(first_order, TRUNCATED, shape=[5, 3], seed=[3, 4])
truncated = functools.partial(as_python, build=quantile(TRUNCATED), second_order="python")
TRUNCATED_NORMAL = [
    truncated("double", *VECTORS),
    truncated("scalars", *SCALARS),
    truncated("broadcast", *BROADCAST),
    truncated("unknown_rank", *VECTORS, static="none"),
    truncated("float_known_shape", *floats(*VECTORS), static="all", second_order=None),
    as_python("bounds_as_python", *VECTORS, wrt=[2, 3]),
    as_python("far_bounds_as_python", *FAR),
]


def with_state(name: str, shape: list[int], *parameters: np.ndarray, **more: Any) -> Case:
    leading = [-1] + [1] * (len(shape) - 1)
    low, high = (parameters[i].reshape(leading) for i in (2, 3))
    # Fed instead of the samples that the op draws again in each run.
    place = np.linspace(0.1, 0.9, np.prod(shape)).reshape(shape)
    fed = {f"{WITH_STATE}:0": (low + place * (high - low)).astype(parameters[0].dtype)}
    how = {"build": quantile(WITH_STATE), "shape": shape, "seed": 3, "seed2": 4, **more}
    return case(WITH_STATE, name, *parameters, also_fed=fed, **how)


CASES = [
    *gamma("RandomGamma", _with_state),
    *gamma("StatelessRandomGammaV2", _v2),
    *gamma("StatelessRandomGammaV3", _v3),
    *TRUNCATED_NORMAL,
    with_state("vectors", [3, 4], *VECTORS),
    with_state("scalars", [3, 4], *SCALARS, static="all"),
    with_state("mixed", [3, 2, 2], MEAN, SCALARS[1], MINVAL, SCALARS[3] + 3),
    with_state("one_of_each", [3], *VECTORS, static="none"),
    with_state("vectors_of_one", [2, 3], *(p[:1] for p in VECTORS)),
    with_state("float", [3, 4], *floats(*VECTORS), second_order=None),
]
