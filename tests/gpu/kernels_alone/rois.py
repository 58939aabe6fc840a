# SPDX-License-Identifier: Apache-2.0
"""Regions that the ops over regions are checked and timed with."""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from checking import Check, copies_beyond, generator
from numeric import FLOAT, FLOATING, HALF, NumericType

Shape = tuple[int, int, int, int]


@dataclasses.dataclass(frozen=True)
class RegionProblem:
    """Shapes of one call: data [N, H, W, C], number of regions, bins."""

    data: Shape
    rois: int
    bins: tuple[int, int]


_BAD = (np.nan, np.inf, -np.inf, 1e30, -1e30)


def random_rois(
    random: np.random.Generator,
    dtype: NumericType,
    data_shape: Shape,
    count: int,
    draw: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Regions [count, 5] of images [N, H, W, C], as they are stored.

    In the last of many, batch indices and corners are anything: on the GPU these
    cannot be refused, and read as 0.

    Args:
      random: What they are drawn from.
      dtype: Their type.
      data_shape: N, H, W, C.
      count: How many.
      draw: Makes the corners of one from where those of the whole image are.
    """
    images, height, width, _ = data_shape
    rois = np.empty((count, 5))
    rois[:, 0] = random.integers(0, max(images, 1), count)
    for roi in rois:
        roi[1:] = draw(np.array([width, height, width, height]))
    if count >= 9:
        for row, value in zip((-1, -2, -3, -4, -5), _BAD, strict=True):
            rois[row, random.integers(1, 5)] = value
        rois[-6:-3, 0] = np.nan, -1, images
    return dtype.encode(rois)


def of_last_copy(dtype: NumericType, rois: np.ndarray, images: int, copies: int) -> np.ndarray:
    """The same regions of the last copy of `images` images."""
    values = dtype.decode(rois)
    values[:, 0] += np.where(values[:, 0] >= 0, (copies - 1) * images, 0)
    return dtype.encode(values)


def checks_beyond(
    elements: int,
    name: str,
    problem: Callable[[Shape, int, tuple[int, int]], RegionProblem],
    check: Callable[..., Any],
) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than so many elements of data, and of pooled.

    `check` takes data_copies and roi_copies, and the rest by name.
    """
    small = problem((3, 8, 8, 32), 15, (3, 2))
    copies = copies_beyond(elements, math.prod(small.data))
    # Float holds the indices of as many images.
    of_data = functools.partial(check, problem=small, dtype=FLOAT, data_copies=copies)
    yield f"{name} float of data", of_data
    small = problem((3, 6, 7, 256), 15, (8, 8))
    copies = copies_beyond(elements, 15 * 8 * 8 * 256)
    of_pooled = functools.partial(check, problem=small, dtype=HALF, roi_copies=copies)
    yield f"{name} half of pooled", of_pooled


@dataclasses.dataclass(frozen=True)
class TimedRegions:
    """Regions to time: [R, 5] of feature maps [N, H, W, C], divided into bins."""

    dtype: NumericType
    data_shape: Shape
    rois: np.ndarray
    bins: tuple[int, int]

    @property
    def name(self) -> str:
        """For the table of times."""
        return f"{self.dtype.name}, C = {self.data_shape[-1]}"


def timed(size: int) -> Iterator[TimedRegions]:
    """Feature maps [2, 50, 76, C] and 512 regions a map, 7 x 7 bins, so that the
    results have about `size` bytes."""
    random = generator("timing", "rois")
    images, height, width, regions, bins = 2, 50, 76, 1024, (7, 7)
    for dtype in FLOATING:
        pooled_bytes = regions * bins[0] * bins[1] * dtype.storage.itemsize
        channels = min(1024, max(8, size // pooled_bytes // 8 * 8))
        corners = np.sort(random.random((regions, 2, 2)), axis=1).reshape(regions, 4)
        rois = np.empty((regions, 5))
        rois[:, 0] = random.integers(0, images, regions)
        rois[:, 1:] = corners * [width, height, width, height]
        shape = images, height, width, channels
        yield TimedRegions(dtype, shape, dtype.encode(rois), bins)
