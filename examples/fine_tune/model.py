"""A classifier of digits in Keras, and training of its exported SavedModel.

`Training` in Python and the programs in bindings do the second half of the training. They load the
same SavedModel and know no more about the model than it contains.
"""

import functools
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

import keras
import numpy as np
import tensorflow as tf

from tensorflow_ext import sysconfig

_ROOT = pathlib.Path(__file__).absolute().parents[2]
sys.path.append(str(_ROOT / "bindings"))

import languages  # noqa: E402

LIBRARY = pathlib.Path(sysconfig.get_lib()) / "libtensorflow_ext.so"
# Rows of 64 grey values from 0 to 16, then the digit.
_DIGITS = _ROOT / "examples" / "digits.csv.gz"
RATE = 1 / 16
BATCH = 64
# The languages whose programs are built.
PROGRAMS = languages.with_program("fine_tune")


class Data:
    """The 1,797 handwritten digits, a fifth of them for testing.

    Attributes:
      x: float [steps, batch, 64], grey values in [0, 1].
      labels: int32 [steps, batch].
      test_x: float [tests, 64].
      test_labels: int32 [tests].
    """

    def __init__(self, steps: int, batch: int = BATCH, seed: int = 0) -> None:
        digits = np.loadtxt(_DIGITS, np.int32, delimiter=",")
        x = (digits[:, :64] / 16).astype(np.float32)
        labels = digits[:, 64]
        rng = np.random.default_rng(seed)
        tests, train = np.split(rng.permutation(len(x)), [len(x) // 5])
        chosen = rng.choice(train, size=(steps, batch))
        self.x, self.labels = x[chosen], labels[chosen]
        self.test_x, self.test_labels = x[tests], labels[tests]

    def write(self, folder: pathlib.Path, first: int = 0) -> None:
        """Writes the batches from step `first` on, for fine_tune."""
        self.x[first:].tofile(folder / "x")
        self.labels[first:].tofile(folder / "labels")


def make_model(seed: int = 0) -> keras.Model:
    """A small network with a convolution, ready for `fit`."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Reshape((8, 8, 1)),
            # silu brings a gradient of its own (docs/saved_models.md).
            keras.layers.Conv2D(16, 3, padding="same", activation="silu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="gelu"),
            keras.layers.BatchNormalization(momentum=0.9),
            keras.layers.Dropout(0.25),
            keras.layers.LayerNormalization(),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.SGD(RATE),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    return model


def export(model: keras.Model, folder: pathlib.Path) -> None:
    """Exports a model with a signature for training, which `model.export` does not write.

    Dropout drops, and BatchNormalization uses the statistics of the batch, only with
    `training=True`.
    """
    archive = keras.export.ExportArchive()
    archive.track(model)
    # The first one is also the signature "serving_default".
    for name, training in (("serve", False), ("train", True)):
        function = functools.partial(model, training=training)
        archive.add_endpoint(name, function, [keras.InputSpec("float32", (None, 64))])
    archive.write_out(folder, verbose=False)


def train_in_keras(model: keras.Model, x: np.ndarray, labels: np.ndarray) -> Iterator[float]:
    """Trains with `train_on_batch`; yields the loss of each step."""
    for batch, batch_labels in zip(x, labels, strict=True):
        model.reset_metrics()  # Otherwise the loss is a running mean.
        yield float(model.train_on_batch(batch, batch_labels))


class Training:
    """The SavedModel in Python: a tf.function that runs a step.

    Args:
      model: The folder of the SavedModel.
      rate: The learning rate.
    """

    def __init__(self, model: pathlib.Path, rate: float = RATE) -> None:
        self.model = tf.saved_model.load(str(model))
        self._serve = self.model.signatures["serving_default"]
        self._train = self.model.signatures.get("train", self._serve)
        # Keras lists what layers with trainable=False have, which tf.Variable does not know.
        frozen = {id(v) for v in getattr(self.model, "non_trainable_variables", [])}
        self.variables = [v for v in self._train.trainable_variables if id(v) not in frozen]
        self._rate = rate
        self.step = tf.function(self._step, autograph=False)

    @staticmethod
    def _logits(signature: Callable[..., dict[str, tf.Tensor]], x: tf.Tensor) -> tf.Tensor:
        (argument,) = signature.structured_input_signature[1]
        (logits,) = signature(**{argument: x}).values()
        return logits

    def _step(self, x: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """Runs one step; returns the loss before it."""
        with tf.GradientTape() as tape:
            logits = self._logits(self._train, x)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, self.variables)
        for variable, gradient in zip(self.variables, gradients, strict=True):
            tf.raw_ops.ResourceApplyGradientDescent(
                var=variable.handle, alpha=self._rate, delta=gradient
            )
        return loss

    def accuracy(self, data: Data) -> float:
        """The accuracy on the test set."""
        found = np.argmax(self._logits(self._serve, tf.constant(data.test_x)), axis=1)
        return float(np.mean(found == data.test_labels))


def train_in_program(
    language: str, model: pathlib.Path, data: pathlib.Path, options: Sequence[str] = ()
) -> Iterator[float]:
    """Trains the SavedModel in a separate process; yields the loss of each step.

    Args:
      language: One of `PROGRAMS`.
      model: The folder of the SavedModel; its variables are overwritten.
      data: The folder that `Data.write` wrote.
      options: Further arguments for the program.

    Raises:
      RuntimeError: The program failed; the message says why.
    """
    arguments = [str(model), str(data), str(BATCH), repr(RATE), *options]
    with (
        (data / "log").open("w+") as log,
        subprocess.Popen(
            [str(languages.find(language, "fine_tune")), *arguments],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            # For programs that do not link the library.
            env={**os.environ, "TENSORFLOW_EXT_LIBRARY": str(LIBRARY)},
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            yield float(line)
        if process.wait() != 0:
            log.seek(0)
            raise RuntimeError(f"fine_tune in {language} failed:\n{log.read()}")
