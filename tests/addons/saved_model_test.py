"""SavedModels with ops of TensorFlow Addons, in Python and in C.

old_model is a model as TensorFlow 2.10 writes it from a graph, without default attributes.
"""

import pathlib
from typing import Any

import formulas
import numpy as np
import processes
import tensorflow as tf
import wrappers

from tensorflow_ext._runtime import _library

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


def test_old_model_in_c(tmp_path: pathlib.Path) -> None:
    """Loads the model as a C program does: Python registers no gradient and no op."""
    program = """
        import ctypes
        import sys
        import numpy as np
        from c_client import Client, ClientError, tensorflow_dir

        model, library, found = sys.argv[1:]
        client = Client(tensorflow_dir(), library)
        try:
            client.load_saved_model(model)
        except ClientError as error:
            assert "Addons>" in str(error), error
        else:
            raise AssertionError("ops that nobody has registered")

        def register():
            with client.status() as status:
                return ctypes.CDLL(library).TfExt_RegisterAddonsOps(status)

        assert [register(), register()] == [18, 0]
        graph = client.load_saved_model(model)
        (gradient,) = graph.gradients(["costs:0"], ["frame:0"], [])
        ones = np.ones((1, 4, 5, 2), np.float32)
        feeds = {"frame:0": ones, "next_frame:0": ones}
        np.savez(found, *graph.run(["costs:0", gradient], feeds))
    """
    processes.run(program, str(_MODEL), str(_library.PATH), str(tmp_path / "found.npz"))
    found = np.load(tmp_path / "found.npz")
    ones = np.ones((1, 4, 5, 2))
    costs = formulas.correlation_cost(ones, ones, **_SIZES)
    gradient, _ = formulas.correlation_cost_grad(ones, ones, np.ones_like(costs), **_SIZES)
    np.testing.assert_allclose(found["arr_0"], costs, rtol=1e-6)
    np.testing.assert_allclose(found["arr_1"], gradient, rtol=1e-6)


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
    """A model that TensorFlow 2 saves is loaded in another process and trained there."""
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
