"""Trains one network on real digits from Python and from C++ and compares.

Both draw the same initial weights and see the same batches. Python uses Keras and
Python's gradients; C++ builds the graph itself and differentiates it with
AddSymbolicGradients (bindings/cxx/examples/train_digits.cc). Then a table shows how far
each client's gradient of each op is from central differences.
"""

import argparse
import pathlib
import sys
import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(ROOT / "examples" / "digits"),
    str(ROOT / "tests" / "clients"),
    str(ROOT / "examples"),
]

import network as digits  # noqa: E402
import programs  # noqa: E402
import table as client_table  # noqa: E402
from fine_tune import demo as fine_tune  # noqa: E402

BATCH = 64
LARGEST_DEVIATION = 1e-4
SMALLEST_ACCURACY = 0.95
FINE_TUNE_STEPS = 300


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        console=console,
    )


def train_in_python(
    network: digits.DigitsNetwork, data: digits.Data, progress: Progress
) -> tuple[np.ndarray, float]:
    """Trains with Keras; returns the loss of each step and the accuracy."""
    task = progress.add_task("Keras (Python)", total=len(data.x), loss=0.0)
    return digits.train(network, data, lambda loss: progress.update(task, advance=1, loss=loss))


def train_in_cpp(data: digits.Data, progress: Progress) -> tuple[np.ndarray, float]:
    """Trains with the C++ client in a separate process; returns the same."""
    task = progress.add_task("graph (C++)", total=len(data.x), loss=0.0)
    losses = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs.write(folder, data)
        for loss in programs.train("C++", folder):
            losses.append(loss)
            progress.update(task, advance=1, loss=loss)
        accuracy = programs.read(folder / "accuracy")
    return np.array(losses), float(accuracy)


def print_curves(console: Console, python: np.ndarray, cpp: np.ndarray) -> float:
    """Prints both loss curves; returns their largest relative deviation."""
    deviations = np.abs(python - cpp) / np.abs(python)
    curves = Table(title="Loss, from the same start on the same batches")
    for heading in ("step", "Keras (Python)", "graph (C++)", "relative deviation"):
        curves.add_column(heading, justify="right")
    for step in sorted({*range(0, len(python), 50), len(python) - 1}):
        curves.add_row(
            str(step + 1), f"{python[step]:.10f}", f"{cpp[step]:.10f}", f"{deviations[step]:.1e}"
        )
    console.print(curves)
    return float(deviations.max())


def draw_curves(python: np.ndarray, cpp: np.ndarray, file: pathlib.Path) -> None:
    """Draws both curves in one picture, with their deviation below."""
    figure, (top, bottom) = plt.subplots(
        2, 1, sharex=True, figsize=(8, 6), height_ratios=(3, 1), layout="constrained"
    )
    steps = np.arange(1, len(python) + 1)
    top.plot(steps, python, linewidth=4, alpha=0.4, label="Keras (Python)")
    top.plot(steps, cpp, linewidth=1, color="black", label="graph (C++)")
    top.set(ylabel="loss", title="One gradient in C++, two clients")
    top.legend()
    deviations = np.maximum(np.abs(python - cpp) / np.abs(python), 1e-17)
    bottom.semilogy(steps, deviations, ".", markersize=3)
    bottom.axhline(LARGEST_DEVIATION, color="tab:red", linewidth=1)
    bottom.set(xlabel="step", ylabel="relative deviation", ylim=(1e-17, 1e-2))
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=120)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600, help="number of batches")
    parser.add_argument("--picture", type=pathlib.Path, default=ROOT / "out" / "digits.png")
    arguments = parser.parse_args()
    if arguments.steps < 1:
        parser.error(f"--steps is {arguments.steps}; expected at least 1")

    console = Console()
    data = digits.make_data(arguments.steps, BATCH)
    network = digits.make_network()
    with _progress(console) as progress:
        python, python_accuracy = train_in_python(network, data, progress)
        cpp, cpp_accuracy = train_in_cpp(data, progress)

    deviation = print_curves(console, python, cpp)
    draw_curves(python, cpp, arguments.picture)
    console.print(f"largest relative deviation  {deviation:.1e}")
    console.print(f"test accuracy, Python       {python_accuracy:.1%}")
    console.print(f"test accuracy, C++          {cpp_accuracy:.1%}")
    console.print(f"picture                     {arguments.picture}")
    with console.status("central differences, op by op") as status:
        deviations = client_table.deviations(lambda op: status.update(f"central differences: {op}"))
    console.print(client_table.render(deviations))
    failures = fine_tune.run(console, FINE_TUNE_STEPS, arguments.picture.with_name("fine_tune.png"))
    if not deviation <= LARGEST_DEVIATION:
        failures.append(f"the curves differ by {deviation:.1e} > {LARGEST_DEVIATION}")
    if min(python_accuracy, cpp_accuracy) <= SMALLEST_ACCURACY:
        failures.append(f"an accuracy is not above {SMALLEST_ACCURACY:.0%}")
    for failure in failures:
        console.print(f"[red]demo: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
