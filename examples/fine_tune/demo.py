"""Keras trains the first half and exports the model; C++ loads it and trains the rest.

The C++ program (bindings/cxx/examples/fine_tune.cc) sees a SavedModel and nothing of Python. A
tf.function trains the same SavedModel on the same batches; the curves must coincide. Python loads
the model that C++ saved, and tests it.
"""

import argparse
import pathlib
import sys
import tempfile
from collections.abc import Callable

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from rich.console import Console

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import model as fine_tune

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGEST_DEVIATION = 1e-5
SMALLEST_ACCURACY = 0.95


def train(
    steps: int, report: Callable[[str, float], None]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
    """Trains `steps` steps in Keras and as many in C++.

    Args:
      steps: The steps of each half.
      report: Called at each step with the trainer's name and the loss.

    Returns:
      The losses of Keras, of C++ and, for the second half, of Python; the test accuracy of the
      model that Keras exported and of the one that C++ saved.
    """
    data = fine_tune.Data(2 * steps)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        network = fine_tune.make_model()
        keras_losses = []
        for loss in fine_tune.train_in_keras(network, data.x[:steps], data.labels[:steps]):
            keras_losses.append(loss)
            report("Keras", loss)
        model = folder / "model"
        fine_tune.export(network, model)

        training = fine_tune.Training(model)
        before = training.accuracy(data)
        python = [
            float(training.step(tf.constant(x), tf.constant(labels)))
            for x, labels in zip(data.x[steps:], data.labels[steps:], strict=True)
        ]
        data.write(folder, steps)
        cpp = []
        for loss in fine_tune.train_in_program("C++", model, folder):
            cpp.append(loss)
            report("C++", loss)
        after = fine_tune.Training(model).accuracy(data)
    return np.array(keras_losses), np.array(cpp), np.array(python), before, after


def draw(keras_losses: np.ndarray, cpp: np.ndarray, python: np.ndarray, file: pathlib.Path) -> None:
    """Draws the whole curve, and below it the difference between C++ and Python."""
    figure, (top, bottom) = plt.subplots(
        2, 1, sharex=True, figsize=(8, 6), height_ratios=(3, 1), layout="constrained"
    )
    half = len(keras_losses)
    first, second = np.arange(1, half + 1), np.arange(half + 1, 2 * half + 1)
    top.semilogy(first, keras_losses, color="tab:orange", label="Keras")
    top.semilogy(second, python, color="tab:blue", linewidth=4, alpha=0.4, label="tf.function")
    top.semilogy(second, cpp, color="black", linewidth=1, label="C++")
    top.axvline(half + 0.5, color="gray", linestyle=":")
    top.annotate(
        "SavedModel",
        (half + 0.5, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4, -12),
        textcoords="offset points",
        color="gray",
    )
    top.set(ylabel="loss", title="Keras exports a model, C++ trains it further")
    top.legend()
    deviations = np.maximum(np.abs(cpp - python) / python, 1e-9)
    bottom.semilogy(second, deviations, ".", markersize=3)
    bottom.axhline(LARGEST_DEVIATION, color="tab:red", linewidth=1)
    bottom.set(xlabel="step", ylabel="C++ : tf.function,\nrelative deviation", ylim=(5e-10, 1e-4))
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=120)
    plt.close(figure)


def run(console: Console, steps: int, picture: pathlib.Path) -> list[str]:
    """Trains, draws, prints; returns the failed checks."""
    with console.status("fine-tuning") as status:
        results = train(steps, lambda who, loss: status.update(f"fine-tuning: {who}, {loss:.4f}"))
    keras_losses, cpp, python, before, after = results
    draw(keras_losses, cpp, python, picture)
    deviation = float(np.max(np.abs(cpp - python) / python))
    console.print(
        f"Keras trained {steps} steps and exported: loss {keras_losses[-1]:.4f}, "
        f"test accuracy {before:.1%}"
    )
    console.print(
        f"C++ loaded it, trained {len(cpp)} more and saved: loss {cpp[-1]:.4f}, "
        f"test accuracy {after:.1%}, measured in Python"
    )
    console.print(f"largest deviation from tf.function  {deviation:.1e}")
    console.print(f"picture                             {picture}")
    failures = []
    if len(cpp) != steps or not deviation <= LARGEST_DEVIATION:
        failures.append(f"fine-tuning: C++ differs from Python by {deviation:.1e}")
    if after <= SMALLEST_ACCURACY:
        failures.append(f"fine-tuning: the accuracy is only {after:.1%}")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300, help="steps of each half")
    parser.add_argument("--picture", type=pathlib.Path, default=ROOT / "out" / "fine_tune.png")
    arguments = parser.parse_args()
    if arguments.steps < 1:
        parser.error(f"--steps is {arguments.steps}; expected at least 1")
    console = Console()
    failures = run(console, arguments.steps, arguments.picture)
    for failure in failures:
        console.print(f"[red]{failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
