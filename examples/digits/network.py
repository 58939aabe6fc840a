"""The digits network in Keras, and the data that both clients train on.

Two dense layers with `relu`, the second with quantised activations (`round_straight_through`), then
two heads. One predicts the digit. The other, behind `reverse_gradient`, predicts whether the image
was shifted, and so teaches the features not to depend on the shift. Everything is double, because
rounding turns the last bit of a float into a whole level, and the two clients would drift apart.
"""

import pathlib
from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

import tensorflow_ext as tfe

# Rows of 64 grey values from 0 to 16, then the digit.
_DIGITS = pathlib.Path(__file__).absolute().parents[1] / "digits.csv.gz"
# Both are exact in float, the type in which Keras keeps the learning rate.
LEARNING_RATE = 3 / 64
MOMENTUM = 7 / 8
LEVELS = 8.0
REVERSE_SCALE = 0.005
HIDDEN = 128
FEATURES = 64


# Images, and for each the digit and its shift flag.
Batch = tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor]]


class Data(NamedTuple):
    """Training batches, with a leading axis of steps, and the test set.

    Attributes:
      x: double [steps, batch, 64], grey values in [0, 1].
      label: int32 [steps, batch], the digit.
      domain: int32 [steps, batch], 1 if the image is shifted.
      test_x: double [tests, 64], not shifted.
      test_label: int32 [tests].
    """

    x: np.ndarray
    label: np.ndarray
    domain: np.ndarray
    test_x: np.ndarray
    test_label: np.ndarray


def make_data(steps: int, batch: int, seed: int = 0) -> Data:
    """The 1,797 handwritten digits, a fifth of them for testing."""
    digits = np.loadtxt(_DIGITS, np.int32, delimiter=",")
    images = digits[:, :64].reshape(-1, 8, 8) / 16.0
    labels = digits[:, 64]
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(images))
    tests, train = np.split(order, [len(order) // 5])
    chosen = rng.choice(train, size=(steps, batch))
    domain = rng.integers(0, 2, size=(steps, batch), dtype=np.int32)
    shifted = np.roll(images, 1, axis=2)
    x = np.where(domain[..., None, None] == 1, shifted[chosen], images[chosen])
    return Data(
        x.reshape(steps, batch, 64),
        labels[chosen],
        domain,
        images[tests].reshape(-1, 64),
        labels[tests],
    )


class DigitsNetwork(keras.Model):
    """The network that the module describes. Its weights, in order: w1, b1, ... w4, b4."""

    def __init__(self) -> None:
        super().__init__(dtype="float64")
        self.layers_ = [
            keras.layers.Dense(
                units,
                dtype="float64",
                kernel_initializer=keras.initializers.GlorotUniform(seed=index),
            )
            for index, units in enumerate((HIDDEN, FEATURES, 10, 2))
        ]

    def call(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The logits of the 10 digits and of the 2 domains, [batch, ...]."""
        first, second, digit, domain = self.layers_
        hidden = tfe.relu(first(x))
        activations = tfe.relu(second(hidden))
        features = tfe.round_straight_through(activations * LEVELS) / LEVELS
        reversed_ = tfe.reverse_gradient(features, scale=REVERSE_SCALE)
        return digit(features), domain(reversed_)

    def train_step(self, data: Batch) -> dict[str, tf.Tensor]:
        """One step; reports the loss of the batch, not a running mean."""
        loss, gradients = self.differentiate(data)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}

    def differentiate(self, data: Batch) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The mean loss of a batch, and its gradients by the trainable variables.

        Under tf.distribute the gradients are this replica's share: an optimizer adds up the shares
        of all replicas, which gives the gradients of the whole batch.
        """
        x, (label, domain) = data
        with tf.GradientTape() as tape:
            digit_logits, domain_logits = self(x, training=True)
            loss = _cross_entropy(digit_logits, label)
            loss += _cross_entropy(domain_logits, domain)
            share = loss / tf.distribute.get_strategy().num_replicas_in_sync
        return loss, tape.gradient(share, self.trainable_variables)


def _cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return tf.reduce_mean(losses)


def make_network() -> DigitsNetwork:
    """A new, built network."""
    network = DigitsNetwork()
    network.compile(
        optimizer=keras.optimizers.SGD(LEARNING_RATE, momentum=MOMENTUM), jit_compile=False
    )
    network(np.zeros((1, 64)))
    return network


class _Report(keras.callbacks.Callback):
    def __init__(self, report: Callable[[float], None]) -> None:
        super().__init__()
        self._report = report

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        assert logs is not None
        self._report(float(logs["loss"]))


def train(
    network: DigitsNetwork, data: Data, report: Callable[[float], None]
) -> tuple[np.ndarray, float]:
    """Trains with `fit`, in one pass over the batches.

    Args:
      network: The network to train.
      data: The batches and the test set.
      report: Called with each step's loss.

    Returns:
      The loss of each step and the accuracy on the test set.
    """
    losses: list[float] = []

    def record(loss: float) -> None:
        losses.append(loss)
        report(loss)

    batches = tf.data.Dataset.from_tensor_slices((data.x, (data.label, data.domain)))
    network.fit(batches, verbose=0, callbacks=[_Report(record)])
    digit_logits, _ = network(data.test_x)
    right = np.argmax(digit_logits, axis=1) == data.test_label
    return np.array(losses), float(np.mean(right))
