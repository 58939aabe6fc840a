"""Synthetic scenes: shapes on a noisy background, and boxes proposed for them."""

from typing import NamedTuple

import numpy as np

SIZE = 64  # pixels of an image's side
CLASSES = ("background", "square", "disc", "cross")
PROPOSALS = 24  # boxes proposed for an image
_FOREGROUND = 0.5  # the least overlap at which a proposal belongs to an object


class Scenes(NamedTuple):
    """Images, with the proposals and the true objects in them.

    Attributes:
      images: [N, SIZE, SIZE, 3], float.
      proposals: [N * PROPOSALS, 5], each (image, x1, y1, x2, y2) in pixels.
      labels: [N * PROPOSALS], the class of each proposal, 0 for background.
      targets: [N * PROPOSALS, 4], the box of each proposal's object; the proposal itself if it has
        no object.
    """

    images: np.ndarray
    proposals: np.ndarray
    labels: np.ndarray
    targets: np.ndarray


def overlap(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Intersection over union of boxes [..., 4], which broadcast."""
    low = np.maximum(one[..., :2], other[..., :2])
    high = np.minimum(one[..., 2:], other[..., 2:])
    intersection = np.prod(np.maximum(high - low, 0), axis=-1)
    areas = [np.prod(box[..., 2:] - box[..., :2], axis=-1) for box in (one, other)]
    return intersection / np.maximum(areas[0] + areas[1] - intersection, 1e-9)


def encode(boxes: np.ndarray, proposals: np.ndarray) -> np.ndarray:
    """Boxes relative to proposals: shifts in widths and heights, and logarithms of
    the scales (R. Girshick et al., CVPR 2014, appendix C)."""
    sizes = proposals[:, 2:] - proposals[:, :2]
    centers = (boxes[:, :2] + boxes[:, 2:] - proposals[:, :2] - proposals[:, 2:]) / 2
    scales = np.log((boxes[:, 2:] - boxes[:, :2]) / sizes)
    return np.concatenate([centers / sizes, scales], axis=1).astype(np.float32)


def decode(deltas: np.ndarray, proposals: np.ndarray) -> np.ndarray:
    """The boxes for the deltas that `encode` made."""
    sizes = proposals[:, 2:] - proposals[:, :2]
    centers = (proposals[:, :2] + proposals[:, 2:]) / 2 + deltas[:, :2] * sizes
    half = sizes * np.exp(np.clip(deltas[:, 2:], -2, 2)) / 2
    return np.concatenate([centers - half, centers + half], axis=1)


def _draw(image: np.ndarray, box: np.ndarray, label: int, random: np.random.Generator) -> None:
    rows, columns = np.mgrid[:SIZE, :SIZE] + 0.5
    x = (2 * columns - box[0] - box[2]) / (box[2] - box[0])
    y = (2 * rows - box[1] - box[3]) / (box[3] - box[1])
    inside = (np.abs(x) <= 1) & (np.abs(y) <= 1)
    if CLASSES[label] == "disc":
        inside = x**2 + y**2 <= 1
    elif CLASSES[label] == "cross":
        inside &= np.minimum(np.abs(x), np.abs(y)) <= 1 / 3
    image[inside] = random.uniform(0.3, 1.0, 3)


def _propose(boxes: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Boxes near the objects, shifted and stretched, and boxes anywhere."""
    near = boxes[random.integers(len(boxes), size=PROPOSALS * 2 // 3)]
    sizes = np.tile(near[:, 2:] - near[:, :2], 2)
    near = near + random.uniform(-0.22, 0.22, near.shape) * sizes
    corners = random.uniform(0, SIZE - 14, (PROPOSALS - len(near), 2))
    sides = random.uniform(10, 28, corners.shape)
    return np.concatenate([near, np.hstack([corners, corners + sides])])


def make(count: int, seed: int) -> Scenes:
    """Makes `count` images with one to three objects each, from a seed."""
    random = np.random.default_rng(seed)
    images = random.normal(0.1, 0.08, (count, SIZE, SIZE, 3))
    proposals, labels, targets = [], [], []
    for i, image in enumerate(images):
        objects = random.integers(1, 4)
        corners = random.uniform(1, SIZE - 29, (objects, 2))
        boxes = np.hstack([corners, corners + random.uniform(14, 28, (objects, 2))])
        classes = random.integers(1, len(CLASSES), objects)
        for box, label in zip(boxes, classes, strict=True):
            _draw(image, box, label, random)
        proposed = _propose(boxes, random)
        overlaps = overlap(proposed[:, np.newaxis], boxes)
        best = overlaps.argmax(axis=1)
        found = overlaps.max(axis=1) >= _FOREGROUND
        proposals.append(np.hstack([np.full((PROPOSALS, 1), i), proposed]))
        labels.append(np.where(found, classes[best], 0))
        targets.append(np.where(found[:, np.newaxis], boxes[best], proposed))
    return Scenes(
        images.astype(np.float32),
        np.concatenate(proposals).astype(np.float32),
        np.concatenate(labels).astype(np.int32),
        np.concatenate(targets).astype(np.float32),
    )
