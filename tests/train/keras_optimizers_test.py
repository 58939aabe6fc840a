"""Each optimizer gives the values that Keras gives, step by step, and has the same slots."""

import re
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from sampling import of_commit
from steps import Arrays, keras_steps, our_steps, serialized

optimizers = keras.optimizers
schedules = keras.optimizers.schedules

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": optimizers.SGD,
    "momentum": lambda: optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "rmsprop": optimizers.RMSprop,
    "rmsprop with momentum": lambda: optimizers.RMSprop(0.01, momentum=0.8),
    "centered rmsprop": lambda: optimizers.RMSprop(0.01, centered=True),
    "centered rmsprop with momentum": lambda: optimizers.RMSprop(0.01, centered=True, momentum=0.5),
    "adagrad": lambda: optimizers.Adagrad(0.1),
    "adadelta": lambda: optimizers.Adadelta(1.0),
    "adam": optimizers.Adam,
    "amsgrad": lambda: optimizers.Adam(0.1, amsgrad=True),
    "adamw": lambda: optimizers.AdamW(0.1),
    "adamax": lambda: optimizers.Adamax(0.1),
    "nadam": lambda: optimizers.Nadam(0.1),
    "ftrl": lambda: optimizers.Ftrl(
        0.1, l1_regularization_strength=0.1, l2_regularization_strength=0.2
    ),
    "ftrl with beta": lambda: optimizers.Ftrl(
        0.1, beta=0.3, l2_shrinkage_regularization_strength=0.1, learning_rate_power=-0.4
    ),
    "lion": lambda: optimizers.Lion(0.1),
    "clipnorm": lambda: optimizers.SGD(0.1, clipnorm=0.5),
    "clipvalue": lambda: optimizers.SGD(0.1, clipvalue=0.3),
    "global_clipnorm": lambda: optimizers.Adam(0.1, global_clipnorm=0.7),
    "large global_clipnorm": lambda: optimizers.SGD(0.1, global_clipnorm=1e3),
    "weight_decay": lambda: optimizers.SGD(0.1, momentum=0.9, weight_decay=0.1),
    "ema": lambda: optimizers.Adam(0.1, use_ema=True, ema_momentum=0.9),
    "ema overwrites": lambda: optimizers.Adam(0.1, use_ema=True, ema_overwrite_frequency=3),
    "accumulation": lambda: optimizers.Adam(0.1, gradient_accumulation_steps=2),
    "accumulation with all": lambda: optimizers.Nadam(
        0.1, gradient_accumulation_steps=3, clipnorm=1.0, weight_decay=0.1, use_ema=True
    ),
    "loss scale": lambda: optimizers.SGD(0.1, loss_scale_factor=8.0),
    "exponential": lambda: optimizers.SGD(schedules.ExponentialDecay(0.1, 3, 0.5)),
    "exponential in stairs": lambda: optimizers.SGD(
        schedules.ExponentialDecay(0.1, 3, 0.5, staircase=True)
    ),
    "inverse time": lambda: optimizers.Adam(schedules.InverseTimeDecay(0.1, 3, 0.5)),
    "inverse time in stairs": lambda: optimizers.SGD(
        schedules.InverseTimeDecay(0.1, 2, 0.5, staircase=True)
    ),
    "piecewise": lambda: optimizers.SGD(schedules.PiecewiseConstantDecay([2, 4], [1.0, 0.5, 0.1])),
    "polynomial": lambda: optimizers.SGD(schedules.PolynomialDecay(0.1, 4, power=2.0)),
    "polynomial in cycles": lambda: optimizers.SGD(schedules.PolynomialDecay(0.1, 3, cycle=True)),
    "cosine": lambda: optimizers.SGD(schedules.CosineDecay(0.1, 5, alpha=0.1)),
    "cosine with warm-up": lambda: optimizers.SGD(
        schedules.CosineDecay(0.0, 5, warmup_target=0.1, warmup_steps=3)
    ),
    "restarts": lambda: optimizers.SGD(schedules.CosineDecayRestarts(0.1, 2, m_mul=0.9)),
    "equal restarts": lambda: optimizers.SGD(schedules.CosineDecayRestarts(0.1, 2, t_mul=1.0)),
}

STEPS = 7


def test_loss_scaling() -> None:
    """Gradients of a scaled loss; one of them is infinite."""
    initial, gradients = arrays("float32")
    gradients[3][1][2] = np.inf
    inner = optimizers.Adam(0.1, name="adam")
    optimizer = optimizers.LossScaleOptimizer(
        inner, initial_scale=8.0, dynamic_growth_steps=2, name="loss_scale_optimizer"
    )
    text = serialized(optimizer)
    expected = list(keras_steps(optimizer, initial, gradients))
    found = list(our_steps(text, initial, gradients))
    scales = []
    for step, ((values, state), (other_values, other_state)) in enumerate(
        zip(found, expected, strict=True)
    ):
        for value, other in zip(values, other_values, strict=True):
            close(value, other, f"step {step}", 1e-5)
        # Keras also makes an iteration and a rate of the outer optimizer, which it does not use.
        unused = {f"{optimizer.name}/_iterations", f"{optimizer.name}/_learning_rate"}
        assert set(state) == set(other_state) - unused
        for slot, value in state.items():
            close(value, other_state[slot], f"step {step}, {slot}", 1e-5)
        scales.append(state["loss_scale_optimizer/dynamic_scale"])
    assert scales == [8, 16, 16, 8, 8, 16, 16]


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


# A type, "fused", and the tolerance. A fused kernel computes 1 - beta in the type of the variable,
# Keras in double.
SETTINGS = (
    ("float32", True, 1e-5),
    ("float32", False, 5e-7),
    ("float64", True, 1e-7),
    ("float64", False, 1e-7),
    ("float16", True, 1e-2),
)
# Each commit chooses a setting for each optimizer; the release check runs all.
PAIRS = [(name, setting) for name in OPTIMIZERS for setting in of_commit(name, SETTINGS)]


@pytest.mark.parametrize(("name", "setting"), PAIRS)
def test_steps(name: str, setting: tuple[str, bool, float]) -> None:
    dtype, fused, tolerance = setting
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
