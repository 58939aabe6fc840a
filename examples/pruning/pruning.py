"""Magnitude pruning to 90 % sparsity with straight-through gradients.

A network of three dense layers learns handwritten digits. Then the 90 % of its
weights with the least magnitude are set to zero: all at once, which costs
accuracy, or gradually while training continues. A pruned weight keeps its value
and its gradient and can come back (gradient='straight_through'); with
gradient='masked' it does not change.

Prints the accuracies and draws how they change, and the weights of the first
layer. Run: .venv/bin/python examples/pruning/pruning.py
"""

import argparse
import pathlib
from collections.abc import Sequence
from typing import Literal, NamedTuple

import matplotlib

matplotlib.use("Agg")
import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tensorflow_ext.layers import MagnitudePruning

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Rows of 64 grey values from 0 to 16, then the digit.
_DIGITS = ROOT / "examples" / "digits.csv.gz"
WIDTHS = (300, 100, 10)
BATCH = 64
Gradient = Literal["straight_through", "masked"]


class Data(NamedTuple):
    """Images [N, 64] with grey values in [0, 1], and digits [N]."""

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def make_data(seed: int = 0) -> Data:
    """The 1,797 handwritten digits, a fifth of them for testing."""
    digits = np.loadtxt(_DIGITS, np.int64, delimiter=",")
    images, labels = (digits[:, :64] / 16).astype(np.float32), digits[:, 64]
    order = np.random.default_rng(seed).permutation(len(images))
    tests, train = np.split(order, [len(order) // 5])
    return Data(images[train], labels[train], images[tests], labels[tests])


class PrunedDense(keras.layers.Layer):
    """A dense layer whose kernel is pruned before it is used."""

    def __init__(self, units: int, gradient: Gradient, activation: str | None = None) -> None:
        super().__init__()
        self.units = units
        self.activation = keras.activations.get(activation)
        self.pruning = MagnitudePruning(sparsity=0.0, gradient=gradient)

    def build(self, input_shape: Sequence[int]) -> None:
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units))
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros")

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return self.activation(inputs @ self.pruning(self.kernel) + self.bias)


class Network(keras.Sequential):
    """Layers of `WIDTHS`, all with the same sparsity."""

    def __init__(self, gradient: Gradient) -> None:
        hidden = [PrunedDense(width, gradient, "relu") for width in WIDTHS[:-1]]
        super().__init__([*hidden, PrunedDense(WIDTHS[-1], gradient)])
        self.build((None, 64))

    def prune(self, sparsity: float) -> None:
        """Sets the fraction of each kernel that counts as zero."""
        for layer in self.layers:
            layer.pruning.level.assign(sparsity)

    def pruned_kernels(self) -> list[np.ndarray]:
        """The kernels after pruning."""
        return [np.asarray(layer.pruning(layer.kernel)) for layer in self.layers]

    def sparsity(self) -> float:
        """The fraction of zeros in all kernels."""
        kernels = self.pruned_kernels()
        return float(np.mean(np.concatenate([k.ravel() for k in kernels]) == 0))

    def accuracy(self, data: Data) -> float:
        """On the digits held back for testing."""
        logits = self(data.test_x)
        return float(np.mean(np.argmax(logits, axis=1) == data.test_y))


def schedule(epoch: int, epochs: int, sparsity: float) -> float:
    """A sparsity that rises fast at first, when many weights are redundant, and is constant at the
    end (M. Zhu and S. Gupta, "To prune, or not to prune", arXiv:1710.01878)."""
    progress = min(1.0, epoch / (0.6 * epochs))
    return sparsity * (1 - (1 - progress) ** 3)


def train(network: Network, data: Data, sparsities: Sequence[float], what: str) -> list[float]:
    """Trains one epoch at each sparsity; returns the accuracy after each."""
    console = Console()
    optimizer = keras.optimizers.Adam(1e-3)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    network.compile(optimizer, loss, jit_compile=False)
    accuracies = []
    for sparsity in track(sparsities, f"{what:26}", console=console):
        network.prune(sparsity)
        network.fit(data.x, data.y, batch_size=BATCH, verbose=0)
        accuracies.append(network.accuracy(data))
    return accuracies


def draw(
    curves: dict[Gradient, list[float]],
    sparsities: Sequence[float],
    dense_accuracy: float,
    kernels: dict[str, np.ndarray],
    file: pathlib.Path,
) -> None:
    """Draws the accuracy over the epochs of pruning, and kernels of the first layer."""
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    epochs = np.arange(1, len(sparsities) + 1)
    for label, accuracies in curves.items():
        axes[0].plot(epochs, accuracies, label=label.replace("_", "-"))
    axes[0].axhline(dense_accuracy, color="grey", linestyle=":", label="dense")
    axes[0].plot(epochs, sparsities, color="black", linewidth=1, label="sparsity")
    axes[0].set(xlabel="epoch", title="Accuracy while weights are pruned")
    axes[0].set_ylim(0.5, 1.01)
    axes[0].legend(loc="lower right")
    for axis, (title, kernel) in zip(axes[1:], kernels.items(), strict=True):
        limit = np.abs(kernel).max()
        axis.imshow(kernel[:, :96], cmap="seismic", vmin=-limit, vmax=limit)
        axis.set(title=title, xlabel="unit", ylabel="pixel")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=100)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sparsity", type=float, default=0.9)
    parser.add_argument("--epochs", type=int, default=20, help="epochs of each training")
    parser.add_argument("--picture", type=pathlib.Path, default=ROOT / "out" / "pruning.png")
    arguments = parser.parse_args()
    if not 0 <= arguments.sparsity <= 1 or arguments.epochs < 1:
        parser.error("expected 0 <= sparsity <= 1 and at least one epoch")

    keras.utils.set_random_seed(0)
    data = make_data()
    dense = Network("straight_through")
    train(dense, data, [0.0] * arguments.epochs, "dense")
    weights, dense_accuracy = dense.get_weights(), dense.accuracy(data)
    kernels = {"First layer, dense": dense.pruned_kernels()[0]}
    dense.prune(arguments.sparsity)
    table = Table(title=f"{len(data.test_y)} held-out digits")
    for heading in ("network", "zeros", "accuracy"):
        table.add_column(heading, justify="right")
    table.add_row("dense", "0.0%", f"{dense_accuracy:.1%}")
    at_once = f"{dense.sparsity():.1%}", f"{dense.accuracy(data):.1%}"
    table.add_row("pruned at once", *at_once)

    sparsities = [
        schedule(epoch, arguments.epochs, arguments.sparsity)
        for epoch in range(1, arguments.epochs + 1)
    ]
    curves: dict[Gradient, list[float]] = {}
    gradients: tuple[Gradient, ...] = ("straight_through", "masked")
    for gradient in gradients:
        network = Network(gradient)
        network.set_weights(weights)
        label = gradient.replace("_", "-")
        curves[gradient] = train(network, data, sparsities, f"pruning, {label}")
        found = f"{network.sparsity():.1%}", f"{network.accuracy(data):.1%}"
        table.add_row(f"pruned in training, {label}", *found)
        kernels.setdefault("First layer, straight-through", network.pruned_kernels()[0])
    Console().print(table)
    draw(curves, sparsities, dense_accuracy, kernels, arguments.picture)
    print(f"picture: {arguments.picture}")


if __name__ == "__main__":
    main()
