"""A model that is saved here, then loaded and differentiated in a fresh process."""

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
    np.savez(sys.argv[2], y, *tape.gradient(y, [x, model.weight]))
"""


def test_saved_model_in_a_fresh_process(tmp_path: pathlib.Path) -> None:
    model = _Model()
    x = tf.constant([[1.0, 2.0], [-3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    gradients = tape.gradient(y, [x, model.weight])
    tf.saved_model.save(model, str(tmp_path / "model"))
    processes.run(_LOAD, str(tmp_path / "model"), str(tmp_path / "result.npz"))
    result = np.load(tmp_path / "result.npz").values()
    for found, expected in zip(result, [y, *gradients], strict=True):
        np.testing.assert_array_equal(found, expected)
