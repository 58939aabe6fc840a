"""Training of every layer, compiled by XLA and on several devices."""

import pathlib
import warnings
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import processes
from commit_sampling import share_of_commit
from layers_case import Case, assert_close
from layers_table import CASES, layers_of_commit


def fit(model: keras.Model, inputs: Sequence[np.ndarray], **arguments: Any) -> list[np.ndarray]:
    """Trains for some steps on one batch, and returns the predictions afterwards."""
    shapes = [(4, *x.shape[1:]) for x in model.outputs]
    targets = [np.zeros(shape, np.float32) for shape in shapes]
    losses = ["mse"] * len(targets)
    model.compile(keras.optimizers.SGD(0.1), losses, **arguments)
    model.fit(list(inputs), targets, epochs=3, shuffle=False, verbose=0)
    predicted = model.predict(list(inputs), verbose=0)
    return predicted if isinstance(predicted, list) else [predicted]


@layers_of_commit("compiled", 5)
def test_training_is_compiled(case: Case) -> None:
    """Training and predictions with XLA equal those of eager execution."""
    eager, compiled = case.model(), case.model()
    predictions = fit(eager, case.inputs, run_eagerly=True)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        predictions_compiled = fit(compiled, case.inputs, jit_compile=True)
    refused = any("doesn't support `jit_compile" in str(x.message) for x in warned)
    assert refused == (not case.make().supports_jit)
    assert_close(predictions_compiled, predictions, 1e-5)
    initial = case.model().get_weights()
    assert any(np.any(x != y) for x, y in zip(eager.get_weights(), initial, strict=True))
    for x, y in zip(compiled.weights, eager.weights, strict=True):
        assert_close(x, y, 1e-5)


def fit_together() -> list[tuple[Case, list[np.ndarray]]]:
    """Trains layers by themselves, but at once, and returns their weights."""
    cases = [CASES[name] for name in share_of_commit("distributed", [*CASES], 5)]
    models = [case.model() for case in cases]
    together = keras.Model(
        [x for model in models for x in model.inputs], [x.output for x in models]
    )
    fit(together, [x for case in cases for x in case.inputs])
    weights = [model.get_weights() for model in models]
    return list(zip(cases, weights, strict=True))


def test_training_is_distributed() -> None:
    """Two replicas train as one device does if examples are independent, and always
    have the same weights and counters."""
    processes.run(
        """
        import sys

        import numpy as np
        import tensorflow as tf

        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * 2
        )
        sys.path.insert(0, sys.argv[1])
        from layers_case import assert_close
        from layers_training_test import fit_together

        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        with strategy.scope():
            distributed = fit_together()
        for (case, actual), (_, expected) in zip(distributed, fit_together(), strict=True):
            for x, y in zip(actual, expected, strict=True):
                assert np.isfinite(x).all(), case
                if case.separable or x.dtype == np.int64:
                    assert_close(x, y, 1e-5)
        """,
        str(pathlib.Path(__file__).parent),
    )
