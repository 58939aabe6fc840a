"""The first training step of a saved model, through the call in its signature, as variables grow.

C loads the SavedModel, adds the gradients of all variables with TF_AddGradients and runs them.
Python loads it and differentiates the signature with a tape. Each side runs in a process of its
own, because the first step is the first only once. In ours, most of the time is Grappler's.
"""

import pathlib
import resource
import statistics
import tempfile
import time

import measure
import numpy as np
import tensorflow as tf
from c_client import Client, tensorflow_dir
from pictures import COST_OVER
from results import Result

import tensorflow_ext as tfe
from tensorflow_ext import sysconfig

VARIABLES = (300, 1000, 3000)
_ROUNDS = 3
_RIVAL = "Python's tape"
_X = np.array([0.5], np.float32)


def _save(count: int, folder: str) -> None:
    module = tf.Module()
    module.factors = [tf.Variable([1 + k / count]) for k in range(count)]

    def chain(x: tf.Tensor) -> tf.Tensor:
        for factor in module.factors:
            x = tf.tanh(x * factor)
        return x

    module.chain = tf.function(chain, input_signature=[tf.TensorSpec([1], name="x")])
    tf.saved_model.save(module, folder, module.chain)


def _measured(before: float, added: float) -> tuple[float, float, int]:
    """The seconds of the whole, those of adding the gradients, and the peak of memory."""
    seconds = time.perf_counter() - before
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return seconds, added, peak


def _in_c(folder: str) -> tuple[float, float, int]:
    rows = tfe.describe_saved_model(folder)
    handles = [f"{row[3]}:0" for row in rows if row[2] == "variable"]
    (x,) = (row[4] for row in rows if row[2] == "input")
    (y,) = (row[4] for row in rows if row[2] == "output")
    client = Client(tensorflow_dir(), f"{sysconfig.get_lib()}/libtensorflow_ext.so")
    graph = client.load_saved_model(folder)
    before = time.perf_counter()
    found = graph.gradients([y], handles, [])
    added = time.perf_counter() - before
    graph.run([name for name in found if name], {x: _X})
    return _measured(before, added)


def _in_python(folder: str) -> tuple[float, float, int]:
    loaded = tf.saved_model.load(folder)
    x = tf.constant(_X)
    before = time.perf_counter()
    with tf.GradientTape() as tape:
        (y,) = loaded.signatures["serving_default"](x=x).values()
    tape.gradient(y, loaded.factors)
    return _measured(before, 0)


def run() -> list[Result]:
    results = []
    for count in VARIABLES:
        with tempfile.TemporaryDirectory() as name:
            folder = str(pathlib.Path(name) / "model")
            measure.in_own_process(_save, count, folder)
            rounds = [
                (measure.in_own_process(_in_c, folder), measure.in_own_process(_in_python, folder))
                for _ in range(_ROUNDS)
            ]
        ours, python = (list(zip(*side, strict=True)) for side in zip(*rounds, strict=True))
        ratios = [a / b for a, b in zip(ours[0], python[0], strict=True)]
        results.append(
            Result(
                COST_OVER + "variables of a model",
                f"Call first step, {count:,}",
                statistics.median(ours[0]),
                _RIVAL,
                statistics.median(ratios),
                memory=(max(ours[2]), max(python[2])),
                note=f"gradients added in {statistics.median(ours[1]):.2g} s",
                spread=(max(ratios) - min(ratios)) / 2,
                size=float(count),
            )
        )
    return results
