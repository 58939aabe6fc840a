"""The steps of the example programs of each language, and of the same trainings by a tf.function.

A program and Python take turns. A program prints the loss of each step, so the time between two of
its lines is that of the steps between them. The first half of them warms up.
"""

import functools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

import measure
import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "examples" / name) for name in ("training", "fine_tune")]

import model as fine_tune  # noqa: E402
import reference  # noqa: E402

GROUP = "Training programs"
RIVAL = "tf.function"
BAR = 1.0
ROUNDS = 9

Losses = Callable[[], Iterator[float]]


def _seconds(losses: Losses) -> float:
    """The time of a step in the second half."""
    # When each loss is there. The end of the program is not counted.
    times = [time.perf_counter() for _ in losses()]
    first = len(times) // 2
    return (times[-1] - times[first]) / (len(times) - 1 - first)


def _compare(case: str, programs: dict[str, Losses], python: Losses) -> list[measure.Result]:
    times: dict[str, list[float]] = {name: [] for name in (*programs, RIVAL)}
    for _ in range(ROUNDS):
        for name, losses in {**programs, RIVAL: python}.items():
            times[name].append(_seconds(losses))
    return [
        measure.Result(
            GROUP,
            f"{case}, {name}",
            statistics.median(times[name]),
            RIVAL,
            measure.ratio(times, name, RIVAL),
            BAR,
            spread=measure.spread(times, name, RIVAL),
        )
        for name in programs
    ]


def _lines(program: pathlib.Path, *arguments: str) -> Iterator[float]:
    # stdbuf lets programs of C++ write each line at once.
    command = ["stdbuf", "-oL", str(program), *arguments]
    environment = {**os.environ, "TENSORFLOW_EXT_LIBRARY": str(fine_tune.LIBRARY)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        yield from map(float, process.stdout)


def _in_python(step: Callable[..., tf.Tensor], batches: Sequence[tuple[tf.Tensor, ...]]) -> Losses:
    return lambda: (float(step(*batch)) for batch in batches)


def run() -> list[measure.Result]:
    languages = fine_tune.languages
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for example, make in reference.TRAININGS.items():
            arguments = [str(folder / "saved")] if example == "train_embedding" else []
            programs: dict[str, Losses] = {
                language: functools.partial(_lines, languages.find(language, example), *arguments)
                for language in languages.LANGUAGES
                if languages.is_built(language, example)
            }
            seeds = [(reference.seed(k),) for k in range(reference.STEPS)]
            results += _compare(example, programs, _in_python(make().step, seeds))
        data = fine_tune.Data(reference.STEPS)
        data.write(folder)
        exported = folder / "model"
        fine_tune.export(fine_tune.make_model(), exported)
        batches = [
            (tf.constant(x), tf.constant(labels))
            for x, labels in zip(data.x, data.labels, strict=True)
        ]
        programs = {
            language: functools.partial(fine_tune.train_in_program, language, exported, folder)
            for language in fine_tune.PROGRAMS
        }
        python = _in_python(fine_tune.Training(exported).step, batches)
        results += _compare("fine_tune", programs, python)
    return results
