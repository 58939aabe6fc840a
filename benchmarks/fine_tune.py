"""A training step on a Keras export, in C and in a tf.function.

bindings/c/examples and examples/fine_tune: the same SavedModel, the same batch, plain gradient
descent. C runs in this process, through ctypes.
"""

import ctypes
import pathlib
import sys
import tempfile

import measure
import numpy as np
import tensorflow as tf

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "examples" / "fine_tune"
sys.path.insert(0, str(FOLDER))

import model as fine_tune  # noqa: E402

GROUP = "A SavedModel trained from C"
RIVAL = "tf.function"
BAR = 1.1


def _in_c(
    library: ctypes.CDLL, model: pathlib.Path, inlined: bool, data: fine_tune.Data
) -> measure.Work:
    """A step in fine_tune.c."""
    library.FineTune_Load.restype = ctypes.c_void_p
    library.FineTune_Load.argtypes = [ctypes.c_char_p, ctypes.c_float, ctypes.c_bool]
    training = library.FineTune_Load(str(model).encode(), fine_tune.RATE, inlined)
    step = library.FineTune_Step
    step.restype = ctypes.c_float
    x, labels = data.x[0], data.labels[0]
    arguments = (
        ctypes.c_void_p(training),
        x.ctypes.data_as(ctypes.c_void_p),
        labels.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_int64(len(labels)),
    )
    return lambda: (step(*arguments), x, labels)


def _in_python(model: pathlib.Path, data: fine_tune.Data) -> measure.Work:
    training = fine_tune.Training(model)
    x, labels = tf.constant(data.x[0]), tf.constant(data.labels[0])
    # Like C, returns a number in the client's memory.
    return lambda: training.step(x, labels).numpy()


def run() -> list[measure.Result]:
    library = ctypes.CDLL(str(fine_tune.languages.find("C", "libfine_tune.so")))
    results = []
    for batch in (fine_tune.BATCH, 8 * fine_tune.BATCH):
        data = fine_tune.Data(1, batch)
        with tempfile.TemporaryDirectory() as name:
            model = pathlib.Path(name)
            fine_tune.make_model().export(model, verbose=False)
            inlined = _in_c(library, model, True, data)
            calls = _in_c(library, model, False, data)
            python = _in_python(model, data)
        first = [np.float32(work()[0]) for work in (inlined, calls)]
        np.testing.assert_allclose(first, python(), rtol=1e-5)
        for what, work, bar in (("calls inlined", inlined, BAR), ("calls kept", calls, None)):
            results += measure.compare(
                GROUP,
                f"batch {batch}: a step, {what}",
                measure.Contender(work),
                {RIVAL: measure.Contender(python, bar)},
                rounds=21,
            )
    return results
