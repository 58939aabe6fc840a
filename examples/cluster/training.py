"""Code that both kinds of training share: data, backups and output.

The data and the network are those of examples/digits.
"""

import pathlib
import sys
import tempfile
import time
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1] / "digits"))
from network import Data, DigitsNetwork, make_data, make_network, train

__all__ = ["Backup", "make_data", "make_network", "report", "split", "train"]

_PAUSE = 2.0  # seconds


def report(step: int, loss: tf.Tensor, pauses: Sequence[int]) -> None:
    """Prints a line for the observer of this task, and pauses after some steps."""
    print(f"step {step} loss {float(loss):.17g}", flush=True)
    if step in pauses:
        time.sleep(_PAUSE)


class Backup:
    """Keeps the network, its optimizer and the number of steps made.

    Args:
      folder: The folder of the backups; None keeps nothing.
      network: A built and compiled network.
      writes: True if this task writes the folder. Every worker of a MultiWorkerMirroredStrategy
        must save, because saving may wait for all of them; the other workers save into folders that
        are removed.
    """

    def __init__(
        self, folder: pathlib.Path | None, network: DigitsNetwork, writes: bool = True
    ) -> None:
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        network.optimizer.build(network.trainable_variables)
        self._checkpoint = tf.train.Checkpoint(
            network=network, optimizer=network.optimizer, step=self._step
        )
        self._folder = folder
        self._scratch = tempfile.TemporaryDirectory()
        written = folder if writes else self._scratch.name
        self._manager = folder and tf.train.CheckpointManager(
            self._checkpoint, str(written), max_to_keep=2
        )

    def restore(self) -> int:
        """Restores the last backup, if there is one; returns the number of steps made."""
        if self._folder and (last := tf.train.latest_checkpoint(str(self._folder))):
            self._checkpoint.restore(last).assert_consumed()
        return int(self._step.numpy())

    def save(self, step: int) -> None:
        """Saves a backup. Call it after this many steps."""
        if self._manager:
            self._step.assign(step)
            self._manager.save(checkpoint_number=step)


def split(data: Data, step: int, parts: int) -> list[tuple[np.ndarray, ...]]:
    """Splits the batch of a step into equal parts: images, digits, and shift flags."""
    batch = data.x[step], data.label[step], data.domain[step]
    return list(zip(*(np.split(array, parts) for array in batch), strict=True))
