# SPDX-License-Identifier: Apache-2.0
"""SavedModels with ops of TensorFlow Addons, in Python and in C.

old_model is one as TensorFlow 2.10 writes it from a graph, its attributes stripped of defaults.

Environment: CLIENT  the program of old_model_client.c
"""

import os
import pathlib
import subprocess
from typing import Any

import formulas
import numpy as np
import processes
import tensorflow as tf
import wrappers
from c_client import tensorflow_dir

_MODEL = pathlib.Path(__file__).absolute().parent / "old_model"
_SIZES = {"kernel_size": 1, "max_displacement": 1, "stride_1": 1, "stride_2": 1, "pad": 1}


def _inputs() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    frames = rng.normal(size=(3, 2, 4, 5, 2)).astype(np.float32)
    words = np.array([[0, 1, 2], [3, 3, 1]], np.int32)[:1]
    return dict(zip(("frame", "next_frame", "flow"), frames, strict=True)) | {"words": words}


def _expected(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    costs = formulas.correlation_cost(inputs["frame"], inputs["next_frame"], **_SIZES)
    warped = formulas.resampler(inputs["next_frame"], inputs["flow"])
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    weights = np.array([[1, 2, 4]], np.float32)
    return {
        "costs": costs,
        "features": formulas.gelu(formulas.hardshrink(warped)),
        "bags": formulas.embedding_bag(inputs["words"], table, weights, "MEAN"),
    }


def test_old_model() -> None:
    inputs = _inputs()
    run = tf.saved_model.load(str(_MODEL)).signatures["serving_default"]
    with tf.GradientTape() as tape:
        tensors = {name: tf.constant(value) for name, value in inputs.items()}
        tape.watch(tensors)
        outputs = run(**tensors)
        loss = tf.reduce_sum(outputs["costs"])
    for name, expected in _expected(inputs).items():
        np.testing.assert_allclose(outputs[name], expected, rtol=1e-5, atol=1e-6)
    frame, next_frame, _, _ = inputs.values()
    gradients = formulas.correlation_cost_grad(
        frame, next_frame, np.ones(outputs["costs"].shape, np.float32), **_SIZES
    )
    found = tape.gradient(loss, [tensors["frame"], tensors["next_frame"]])
    for gradient, expected in zip(found, gradients, strict=True):
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_old_model_is_refused_without_the_ops() -> None:
    program = """
        import sys
        import tensorflow as tf
        import tensorflow_ext
        try:
            tf.saved_model.load(sys.argv[1])
        except tf.errors.NotFoundError as error:
            print(error)
    """
    assert "Addons>" in processes.run(program, str(_MODEL))


def test_old_model_in_c() -> None:
    folder = tensorflow_dir()
    done = subprocess.run(
        [os.environ["CLIENT"], str(_MODEL)],
        capture_output=True,
        text=True,
        env=os.environ | {"LD_LIBRARY_PATH": f"{folder}:{folder}/python"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ones = np.ones((1, 4, 5, 2))
    costs = formulas.correlation_cost(ones, ones, **_SIZES)
    gradient, _ = formulas.correlation_cost_grad(ones, ones, np.ones_like(costs), **_SIZES)
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    for name, expected in {"costs": costs, "gradient": gradient}.items():
        found = np.array([*map(float, lines[name].split())])
        np.testing.assert_allclose(found, expected.reshape(-1), rtol=1e-6)


class _Model(tf.Module):
    """A trainable table, and nodes within functions that call each other."""

    def __init__(self) -> None:
        super().__init__()
        self.table = tf.Variable(np.arange(8, dtype=np.float32).reshape(4, 2) / 8)

    @tf.function
    def activation(self, x: tf.Tensor) -> Any:
        return wrappers.function_of("Addons>Mish")(x)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.int32)])
    def __call__(self, words: tf.Tensor) -> Any:
        ones = tf.ones_like(words, tf.float32)
        bags = wrappers.function_of("Addons>EmbeddingBag")(words, self.table, ones)
        return self.activation(bags)


def test_functions_and_variables(tmp_path: pathlib.Path) -> None:
    """Saved by TensorFlow 2, loaded in another process, and trained there."""
    model, words = _Model(), [[0, 1, 2], [3, 3, 1]]
    with tf.GradientTape() as tape:
        values = model(tf.constant(words))
    gradient = tape.gradient(values, model.table)
    tf.saved_model.save(model, str(tmp_path / "model"))
    program = """
        import sys
        import numpy as np
        import tensorflow as tf
        import tensorflow_ext.addons
        model = tf.saved_model.load(sys.argv[1])
        with tf.GradientTape() as tape:
            values = model(tf.constant([[0, 1, 2], [3, 3, 1]]))
        np.savez(sys.argv[2], values, tape.gradient(values, model.table))
    """
    processes.run(program, str(tmp_path / "model"), str(tmp_path / "found.npz"))
    found = np.load(tmp_path / "found.npz")
    np.testing.assert_array_equal(found["arr_0"], values)
    np.testing.assert_array_equal(found["arr_1"], gradient)
