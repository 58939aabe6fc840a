"""The second stage of a two-stage detector: RoiAlign cuts each proposed box out of
an image's features, and a small head classifies the object and refines the box.

Trains on synthetic scenes (scenes.py), prints class accuracy and the overlap of
the boxes with the objects before and after the head, and draws some scenes.
"""

import argparse
import pathlib

import matplotlib

matplotlib.use("Agg")
import keras
import matplotlib.pyplot as plt
import numpy as np
import scenes
import tensorflow as tf
from matplotlib.patches import Rectangle
from rich.console import Console
from rich.progress import track
from rich.table import Table

import tensorflow_ext as tfe

ROOT = pathlib.Path(__file__).resolve().parents[2]
STRIDE = 4  # pixels of the image per pixel of the features
BINS = 5


class Detector(keras.Model):
    """Features, RoiAlign and head. Call it with (images, proposals).

    Returns the logits of the classes, [R, classes], and the deltas of the boxes
    (scenes.encode), [R, 4].
    """

    def __init__(self) -> None:
        super().__init__()
        self._features = keras.Sequential(
            [
                keras.layers.Conv2D(width, 3, strides, "same", activation="relu")
                for width, strides in ((16, 2), (32, 2), (32, 1))
            ]
        )
        self._head = keras.Sequential(
            [keras.layers.Flatten(), keras.layers.Dense(96, activation="relu")]
        )
        self._classes = keras.layers.Dense(len(scenes.CLASSES))
        self._deltas = keras.layers.Dense(4)

    def call(self, inputs: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        images, proposals = inputs
        regions = tfe.roi_align(
            self._features(images),
            proposals,
            pooled_height=BINS,
            pooled_width=BINS,
            spatial_scale=1 / STRIDE,
            sampling_ratio=2,
        )
        hidden = self._head(regions)
        return self._classes(hidden), self._deltas(hidden)


def loss_of(detector: Detector, batch: scenes.Scenes) -> tf.Tensor:
    """Cross entropy of the classes, and the Huber loss of the objects' boxes
    (R. Girshick, "Fast R-CNN", ICCV 2015, section 2.3)."""
    logits, deltas = detector((batch.images, batch.proposals))
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(batch.labels, logits)
    objects = tf.cast(batch.labels > 0, tf.float32)
    distance = keras.losses.huber(batch.targets, deltas, delta=0.2)
    boxes = tf.reduce_sum(objects * distance) / tf.maximum(tf.reduce_sum(objects), 1.0)
    return tf.reduce_mean(entropy) + 20 * boxes


def train(detector: Detector, steps: int, batch: int, console: Console) -> list[float]:
    """Returns the loss of each step. Targets go in as deltas."""
    optimizer = keras.optimizers.Adam(2e-3)

    @tf.function
    def step(batch: scenes.Scenes) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_of(detector, batch)
        variables = detector.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    losses = []
    for number in track(range(steps), "training", console=console):
        made = scenes.make(batch, seed=number)
        deltas = scenes.encode(made.targets, made.proposals[:, 1:])
        losses.append(float(step(made._replace(targets=deltas))))
    return losses


def draw(made: scenes.Scenes, refined: np.ndarray, found: np.ndarray, file: pathlib.Path) -> None:
    """Some scenes with their objects' proposals (red) and refined boxes (green)."""
    figure, axes = plt.subplots(2, 4, figsize=(12, 6.4), layout="constrained")
    for i, axis in enumerate(axes.flat):
        axis.imshow(np.clip(made.images[i], 0, 1))
        axis.set_axis_off()
        of_image = (made.proposals[:, 0] == i) & (found > 0)
        for r in np.flatnonzero(of_image)[:6]:
            for box, color in ((made.proposals[r, 1:], "red"), (refined[r], "lime")):
                corner, size = box[:2] - 0.5, box[2:] - box[:2]
                axis.add_patch(Rectangle(corner, *size, fill=False, color=color))
        names = sorted({scenes.CLASSES[label] for label in found[of_image]})
        axis.set_title(", ".join(names), fontsize=10)
    figure.suptitle("red: proposed, green: refined by the head")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=100)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--batch", type=int, default=8, help="images per step")
    parser.add_argument("--picture", type=pathlib.Path, default=ROOT / "out" / "detector.png")
    arguments = parser.parse_args()
    console = Console()
    keras.utils.set_random_seed(0)
    detector = Detector()
    losses = train(detector, arguments.steps, arguments.batch, console)

    made = scenes.make(64, seed=1_000_000)
    logits, deltas = detector((made.images, made.proposals))
    found = np.argmax(logits, axis=1)
    refined = scenes.decode(np.asarray(deltas), made.proposals[:, 1:])
    objects = made.labels > 0
    before = scenes.overlap(made.proposals[objects, 1:], made.targets[objects])
    after = scenes.overlap(refined[objects], made.targets[objects])

    table = Table(title="64 scenes that were not trained on")
    for heading in ("", "before", "after"):
        table.add_column(heading, justify="right")
    table.add_row("loss of a step", f"{losses[0]:.3f}", f"{losses[-1]:.3f}")
    table.add_row("class accuracy", "", f"{np.mean(found == made.labels):.1%}")
    table.add_row("mean overlap", f"{before.mean():.3f}", f"{after.mean():.3f}")
    console.print(table)
    draw(made, refined, found, arguments.picture)
    console.print(f"picture: {arguments.picture}")


if __name__ == "__main__":
    main()
