# SPDX-License-Identifier: Apache-2.0
"""Models that are saved here and loaded, and trained on, in a fresh process."""

import pathlib

import numpy as np
import processes
import tensorflow as tf

import tensorflow_ext as tfe


class _Model(tf.Module):
    """A layer with a trainable weight between two of the ops."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable([[0.5, -2.0], [1.5, 1.0]])

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        hidden = tfe.relu(x @ self.weight)
        return tfe.reverse_gradient(hidden, scale=0.25)


_LOAD = """
    import sys
    import numpy as np
    import tensorflow as tf
    import tensorflow_ext
    model = tf.saved_model.load(sys.argv[1])
    x = tf.constant([[1.0, 2.0], [-3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    dw, dx = tape.gradient(y, [model.weight, x])
    np.savez(sys.argv[2], y=y, dw=dw, dx=dx)
"""


def test_saved_model_in_a_fresh_process(tmp_path: pathlib.Path) -> None:
    model = _Model()
    x = tf.constant([[1.0, 2.0], [-3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    dw, dx = tape.gradient(y, [model.weight, x])
    tf.saved_model.save(model, str(tmp_path / "model"))
    processes.run(_LOAD, str(tmp_path / "model"), str(tmp_path / "result.npz"))
    result = np.load(tmp_path / "result.npz")
    for name, expected in {"y": y, "dw": dw, "dx": dx}.items():
        np.testing.assert_array_equal(result[name], expected)


def test_keras_model_in_a_fresh_process(tmp_path: pathlib.Path) -> None:
    @tf.keras.utils.register_keras_serializable("tests")
    class Relu(tf.keras.layers.Layer):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            return tfe.relu(x)

    inputs = tf.keras.Input([3])
    outputs = tf.keras.layers.Dense(2)(Relu()(inputs))
    model = tf.keras.Model(inputs, outputs)
    x = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
    model.export(str(tmp_path / "model"), verbose=False)
    program = """
        import sys
        import numpy as np
        import tensorflow as tf
        import tensorflow_ext
        model = tf.saved_model.load(sys.argv[1])
        np.save(sys.argv[2], model.serve(np.load(sys.argv[3])))
    """
    np.save(tmp_path / "x.npy", x)
    paths = [str(tmp_path / name) for name in ("model", "y.npy", "x.npy")]
    processes.run(program, *paths)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), model(x), rtol=1e-6, atol=1e-6)
