"""The replay of C++ gradients against the same gradients written in Python, and the one-time costs
of the package: its import, and the first gradient of an op."""

import os
import pathlib
import statistics
import subprocess
import sys
from collections.abc import Callable

import by_hand
import measure
import tensorflow as tf
from tensorflow.python.framework import ops as python_ops

import tensorflow_ext as tfe

GRADIENT_BAR = 1.0
# The bars in seconds.
IMPORT_BAR = 1.5
FIRST_GRADIENT_BAR = 1e-3
BY_HAND = "RegisterGradient by hand"


def _by_hand(op: str, gradient: Callable, step: Callable) -> Callable[[], object]:
    entry = python_ops.gradient_registry._registry[op]
    replayed = entry["type"]

    # The two assignments cost nothing compared with the step; a context manager does.
    def run() -> object:
        entry["type"] = gradient
        result = step()
        entry["type"] = replayed
        return result

    return run


def forward_and_gradient() -> list[measure.Result]:
    """Measures eager forward and gradient of small tensors, which is all overhead."""
    results = []
    for case in by_hand.CASES:
        arguments = [tf.constant(value) for value in case.inputs]
        step = measure.step(case.function, arguments, by=case.by)
        hand = measure.Contender(_by_hand(case.op, case.gradient, step), GRADIENT_BAR)
        results += measure.compare(
            "eager forward + gradient", case.op, measure.Contender(step), {BY_HAND: hand}, rounds=31
        )
    return results


def tracing(count: int = 1000) -> list[measure.Result]:
    """Measures tracing a tf.function of `count` ops and their gradients."""

    def trace() -> None:
        @tf.function
        def chain(x: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in range(count):
                    y = tfe.relu(y)
            return tape.gradient(y, x)

        chain.get_concrete_function(tf.TensorSpec([8], tf.float32))

    hand = _by_hand(by_hand.RELU.op, by_hand.RELU.gradient, trace)
    return measure.compare(
        "tracing tf.function",
        f"{count:,} x TfExt>Relu",
        measure.Contender(trace),
        {BY_HAND: measure.Contender(hand, GRADIENT_BAR)},
        rounds=5,
    )


_IMPORTS = """
import time
import tensorflow
import keras
start = time.perf_counter()
import tensorflow_ext
print("seconds", time.perf_counter() - start)
"""


def _lines(*arguments: str) -> list[list[str]]:
    """The output of a separate Python process, split into words."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    output = subprocess.check_output(
        [sys.executable, *arguments], env=environment, stderr=subprocess.DEVNULL, text=True
    )
    return [line.split() for line in output.splitlines()]


def imports(rounds: int = 5) -> list[measure.Result]:
    """Measures importing the package after TensorFlow and Keras, in separate processes."""
    seconds = statistics.median(float(_lines("-c", _IMPORTS)[-1][1]) for _ in range(rounds))
    return [
        measure.Result(
            "import",
            "tensorflow_ext, after tensorflow",
            seconds,
            f"{IMPORT_BAR} s",
            seconds / IMPORT_BAR,
            1.0,
        )
    ]


def first_gradients(rounds: int = 3) -> list[measure.Result]:
    """Measures the first gradient of each op; reports the most expensive."""
    script = pathlib.Path(__file__).with_name("first_gradient.py")
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for op, seconds in _lines(str(script)):
            times.setdefault(op, []).append(float(seconds))
    medians = {op: statistics.median(found) for op, found in times.items()}
    worst = max(medians, key=lambda op: medians[op])
    rows = {
        f"{worst}, which costs most": medians[worst],
        f"the median of {len(medians)} ops": statistics.median(medians.values()),
    }
    return [
        measure.Result(
            "the first gradient of an op in a type",
            case,
            seconds,
            f"{FIRST_GRADIENT_BAR * 1e3:g} ms",
            seconds / FIRST_GRADIENT_BAR,
            1.0,
        )
        for case, seconds in rows.items()
    ]


def run() -> list[measure.Result]:
    return imports() + first_gradients() + forward_and_gradient() + tracing()
