# SPDX-License-Identifier: Apache-2.0
"""Gradients of the gradients of activations."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal

raw = tf.raw_ops

# Values on both sides of every kink, and on the kinks.
KINKS = np.array([-7.0, -1.0, -0.25, 0.0, 0.25, 1.0, 5.75, 6.0, 6.25, 40.0])
SMOOTH = np.array([-60.0, -3.0, -0.25, -1e-3, 1e-3, 0.5, 2.0, 6.5, 30.0, 60.0])


def _of_outputs(op: str) -> Callable[..., Any]:
    return lambda dy, y: getattr(raw, op)(gradients=dy, outputs=y)


def _of_features(op: str) -> Callable[..., Any]:
    return lambda dy, x: getattr(raw, op)(gradients=dy, features=x)


def _cases(op: str, build: Callable[..., Any], x: np.ndarray) -> list[Case]:
    # Further out e^x overflows in Python's softplus''.
    half = [normal(10, dtype=np.float16), x.clip(-9, 9).astype(np.float16)]
    bfloat16 = [value.astype(ml_dtypes.bfloat16) for value in half]
    return [
        Case(op, "double", build, [normal(10), x]),
        Case(
            op,
            "float_known_shape",
            build,
            [normal(10, dtype=np.float32), x.astype(np.float32)],
            known_shapes=True,
        ),
        Case(op, "half", build, half),
        Case(op, "bfloat16", build, bfloat16),
        Case(
            op,
            "matrix_unknown_rank",
            build,
            [normal(3, 4), normal(3, 4, seed=1)],
            known_shapes="rank",
        ),
        Case(op, "empty", build, [normal(0, 3), normal(0, 3)]),
        Case(
            op,
            "numeric",
            build,
            [normal(7), normal(7, seed=1)],
            reference="numeric",
            second_order="numeric",
        ),
    ]


def _chain(op: Callable[..., Any]) -> Callable[..., Any]:
    """The activation's own second derivative, through TensorFlow's gradient."""

    def build(x: Any) -> Any:
        return tf.gradients(tf.reduce_sum(op(x) ** 2), x)[0]

    return build


CASES = [
    *_cases("ReluGrad", _of_features("ReluGrad"), KINKS),
    *_cases("Relu6Grad", _of_features("Relu6Grad"), KINKS),
    *_cases("EluGrad", _of_outputs("EluGrad"), KINKS),
    *_cases("SeluGrad", _of_outputs("SeluGrad"), KINKS),
    *_cases("SoftplusGrad", _of_features("SoftplusGrad"), SMOOTH),
    # Python has no gradient of this one.
    Case(
        "SoftsignGrad",
        "double",
        _of_features("SoftsignGrad"),
        [normal(9), SMOOTH[1:]],
        reference="numeric",
        second_order="numeric",
    ),
    Case(
        "SoftsignGrad",
        "matrix",
        _of_features("SoftsignGrad"),
        [normal(3, 4), normal(3, 4, seed=1)],
        known_shapes=True,
        reference="numeric",
        second_order="numeric",
    ),
    Case(
        "SoftsignGrad",
        "empty",
        _of_features("SoftsignGrad"),
        [normal(0, 3), normal(0, 3)],
        reference="numeric",
        second_order="numeric",
    ),
    Case("EluGrad", "of_elu", _chain(tf.nn.elu), [normal(3, 5)]),
    Case("SeluGrad", "of_selu", _chain(tf.nn.selu), [normal(3, 5)]),
    Case(
        "SoftplusGrad",
        "of_softplus",
        lambda x: raw.SoftplusGrad(gradients=tf.nn.softplus(x), features=x),
        [normal(3, 5)],
    ),
]
