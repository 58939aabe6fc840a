"""The programs in other languages that train the network of network.py, and their input files.

A program, `train_digits LIBRARY FOLDER`, builds the network and its gradients itself;
bindings/cxx/examples/train_digits.cc describes the files in FOLDER.
"""

import pathlib
import subprocess
import sys
from collections.abc import Iterator

import network
import numpy as np
import tensorflow as tf

from tensorflow_ext import sysconfig

sys.path.append(str(pathlib.Path(__file__).absolute().parents[2] / "bindings"))

import languages

LIBRARY = pathlib.Path(sysconfig.get_lib()) / "libtensorflow_ext.so"
LANGUAGES = ("C++", "Go", "Java", "Rust")


def write(folder: pathlib.Path, data: network.Data) -> None:
    """Writes the programs' input.

    Args:
      folder: The destination.
      data: The batches and the test set.
    """
    for field, value in data._asdict().items():
        _write(folder / field, value)
    settings = [network.LEARNING_RATE, network.MOMENTUM, network.LEVELS, network.REVERSE_SCALE]
    _write(folder / "settings", np.array(settings))


def _write(file: pathlib.Path, value: np.ndarray) -> None:
    dtype = tf.as_dtype(value.dtype).as_datatype_enum
    header = [dtype, value.ndim, *value.shape, value.nbytes]
    file.write_bytes(np.array(header, "<i8").tobytes() + value.tobytes())


def read(file: pathlib.Path) -> np.ndarray:
    """Reads a program's output."""
    content = file.read_bytes()
    dtype, rank = np.frombuffer(content, "<i8", 2)
    shape = np.frombuffer(content, "<i8", rank, offset=16)
    values = content[8 * (3 + rank) :]
    return np.frombuffer(values, tf.as_dtype(int(dtype)).as_numpy_dtype).reshape(shape)


def train(language: str, folder: pathlib.Path) -> Iterator[float]:
    """Trains in a separate process; yields the loss of each step.

    Args:
      language: One of LANGUAGES.
      folder: The folder that `write` wrote.

    Raises:
      FileNotFoundError: The program is not built.
      RuntimeError: The program failed; the message says why.
    """
    program = languages.find(language, "train_digits")
    with (
        (folder / "log").open("w+") as log,
        subprocess.Popen(
            [str(program), str(LIBRARY), str(folder)], stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            yield float(line)
        if process.wait() != 0:
            log.seek(0)
            raise RuntimeError(f"{program} failed:\n{log.read()}")
