# SPDX-License-Identifier: Apache-2.0
"""Each optimizer gives the values that Keras gives, step by step, and has the same slots."""

import re
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from steps import Arrays, keras_steps, our_steps, serialized

O = keras.optimizers
S = O.schedules

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": O.SGD,
    "momentum": lambda: O.SGD(0.1, momentum=0.9),
    "nesterov": lambda: O.SGD(0.1, momentum=0.9, nesterov=True),
    "rmsprop": O.RMSprop,
    "rmsprop with momentum": lambda: O.RMSprop(0.01, momentum=0.8),
    "centered rmsprop": lambda: O.RMSprop(0.01, centered=True),
    "centered rmsprop with momentum": lambda: O.RMSprop(0.01, centered=True, momentum=0.5),
    "adagrad": lambda: O.Adagrad(0.1),
    "adadelta": lambda: O.Adadelta(1.0),
    "adam": O.Adam,
    "amsgrad": lambda: O.Adam(0.1, amsgrad=True),
    "adamw": lambda: O.AdamW(0.1),
    "adamax": lambda: O.Adamax(0.1),
    "nadam": lambda: O.Nadam(0.1),
    "ftrl": lambda: O.Ftrl(0.1, l1_regularization_strength=0.1, l2_regularization_strength=0.2),
    "ftrl with beta": lambda: O.Ftrl(
        0.1, beta=0.3, l2_shrinkage_regularization_strength=0.1, learning_rate_power=-0.4
    ),
    "lion": lambda: O.Lion(0.1),
    "clipnorm": lambda: O.SGD(0.1, clipnorm=0.5),
    "clipvalue": lambda: O.SGD(0.1, clipvalue=0.3),
    "global_clipnorm": lambda: O.Adam(0.1, global_clipnorm=0.7),
    "large global_clipnorm": lambda: O.SGD(0.1, global_clipnorm=1e3),
    "weight_decay": lambda: O.SGD(0.1, momentum=0.9, weight_decay=0.1),
    "ema": lambda: O.Adam(0.1, use_ema=True, ema_momentum=0.9),
    "ema overwrites": lambda: O.Adam(0.1, use_ema=True, ema_overwrite_frequency=3),
    "accumulation": lambda: O.Adam(0.1, gradient_accumulation_steps=2),
    "accumulation with all": lambda: O.Nadam(
        0.1, gradient_accumulation_steps=3, clipnorm=1.0, weight_decay=0.1, use_ema=True
    ),
    "loss scale": lambda: O.SGD(0.1, loss_scale_factor=8.0),
    "exponential": lambda: O.SGD(S.ExponentialDecay(0.1, 3, 0.5)),
    "exponential in stairs": lambda: O.SGD(S.ExponentialDecay(0.1, 3, 0.5, staircase=True)),
    "inverse time": lambda: O.Adam(S.InverseTimeDecay(0.1, 3, 0.5)),
    "inverse time in stairs": lambda: O.SGD(S.InverseTimeDecay(0.1, 2, 0.5, staircase=True)),
    "piecewise": lambda: O.SGD(S.PiecewiseConstantDecay([2, 4], [1.0, 0.5, 0.1])),
    "polynomial": lambda: O.SGD(S.PolynomialDecay(0.1, 4, power=2.0)),
    "polynomial in cycles": lambda: O.SGD(S.PolynomialDecay(0.1, 3, cycle=True)),
    "cosine": lambda: O.SGD(S.CosineDecay(0.1, 5, alpha=0.1)),
    "cosine with warm-up": lambda: O.SGD(
        S.CosineDecay(0.0, 5, warmup_target=0.1, warmup_steps=3)
    ),
    "restarts": lambda: O.SGD(S.CosineDecayRestarts(0.1, 2, m_mul=0.9)),
    "equal restarts": lambda: O.SGD(S.CosineDecayRestarts(0.1, 2, t_mul=1.0)),
}

STEPS = 7


def arrays(dtype: str) -> tuple[dict[str, np.ndarray], list[Arrays]]:
    draws = np.random.default_rng(3)
    initial = {
        "dense/kernel": draws.normal(size=(3, 2)).astype(dtype),
        "dense/bias": draws.normal(size=(4,)).astype(dtype),
    }
    return initial, [
        [draws.normal(size=value.shape).astype(dtype) for value in initial.values()]
        for _ in range(STEPS)
    ]


def close(found: np.ndarray, expected: np.ndarray, name: str, tolerance: float) -> None:
    assert found.dtype == expected.dtype, name
    np.testing.assert_allclose(
        found.astype(np.float64),
        expected.astype(np.float64),
        rtol=tolerance,
        atol=tolerance,
        err_msg=name,
    )


# A fused kernel computes 1 - beta in the type of the variable, Keras in double.
@pytest.mark.parametrize(
    ("dtype", "fused", "tolerance"),
    [
        ("float32", True, 1e-5),
        ("float32", False, 5e-7),
        ("float64", True, 1e-7),
        ("float64", False, 1e-7),
        ("float16", True, 1e-2),
    ],
)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps(name: str, dtype: str, fused: bool, tolerance: float) -> None:
    initial, gradients = arrays(dtype)
    optimizer = OPTIMIZERS[name]()
    text = serialized(optimizer, name=re.sub(r"_\d+$", "", optimizer.name), fused=fused)
    expected = list(keras_steps(optimizer, initial, gradients))
    found = list(our_steps(text, initial, gradients))
    for step, ((values, state), (other_values, other_state)) in enumerate(
        zip(found, expected, strict=True)
    ):
        for value, other in zip(values, other_values, strict=True):
            close(value, other, f"step {step}", tolerance)
        assert set(state) == set(other_state)
        for slot, other in other_state.items():
            close(state[slot], other, f"step {step}, {slot}", tolerance)
