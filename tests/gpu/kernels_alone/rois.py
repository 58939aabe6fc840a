"""Regions for the checks and times of ops over regions."""

import dataclasses
import functools
import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from checking import Check, copies_beyond, generator
from device import Buffer, Device
from numeric import FLOAT, FLOATING, HALF, NumericType

Shape = tuple[int, int, int, int]


@dataclasses.dataclass(frozen=True)
class RegionProblem:
    """One call: shapes of data [N, H, W, C], number of regions, bins, and attributes; RoiPool
    has only the first attribute."""

    data: Shape
    rois: int
    bins: tuple[int, int]
    scale: float = 1.0
    sampling_ratio: int = 0
    aligned: bool = True

    @property
    def dims(self) -> bytes:
        """The members of RegionDims."""
        return struct.pack("7q", *self.data, self.rois, *self.bins)

    @property
    def pooled(self) -> Shape:
        """The shape of the output."""
        return self.rois, *self.bins, self.data[3]

    def repeated(self, data_copies: int, roi_copies: int) -> "RegionProblem":
        """The problem with more images and more regions."""
        data = data_copies * self.data[0], *self.data[1:]
        return dataclasses.replace(self, data=data, rois=roi_copies * self.rois)


_BAD = (np.nan, np.inf, -np.inf, 1e30, -1e30)


def random_rois(
    random: np.random.Generator,
    dtype: NumericType,
    problem: RegionProblem,
    draw: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Regions [count, 5], in their storage type.

    If there are many, the last one has arbitrary batch indices and corners: the GPU cannot refuse
    these, and reads them as 0.

    Args:
      random: The random generator.
      dtype: Their type.
      problem: Their images and their number.
      draw: Makes the corners of one region from those of the whole image.
    """
    (images, height, width, _), count = problem.data, problem.rois
    rois = np.empty((count, 5))
    rois[:, 0] = random.integers(0, max(images, 1), count)
    for roi in rois:
        roi[1:] = draw(np.array([width, height, width, height]))
    if count >= 9:
        for row, value in zip((-1, -2, -3, -4, -5), _BAD, strict=True):
            rois[row, random.integers(1, 5)] = value
        rois[-6:-3, 0] = np.nan, -1, images
    return dtype.encode(rois)


def upload_rois(
    device: Device,
    dtype: NumericType,
    rois: np.ndarray,
    problem: RegionProblem,
    data_copies: int,
    roi_copies: int,
    offset: int,
) -> Buffer:
    """The same regions of the last copy of the images, repeated."""
    values = dtype.decode(rois)
    values[:, 0] += np.where(values[:, 0] >= 0, (data_copies - 1) * problem.data[0], 0)
    return device.repeat(dtype.encode(values), roi_copies, offset)


def checks_beyond(
    elements: int, name: str, check: Callable[..., Any]
) -> Iterator[tuple[str, Check]]:
    """(name, check) for more than `beyond` elements of data, and of pooled.

    `check` takes data_copies and roi_copies, and the rest by name.
    """
    # Float holds the indices of that many images.
    for what, dtype, copied, problem in (
        ("data", FLOAT, "data", RegionProblem((3, 8, 8, 32), 15, (3, 2))),
        ("pooled", HALF, "roi", RegionProblem((3, 6, 7, 256), 15, (8, 8))),
    ):
        copies = copies_beyond(elements, math.prod(getattr(problem, what)))
        arguments = {"problem": problem, "dtype": dtype, f"{copied}_copies": copies}
        yield f"{name} {dtype.name} of {what}", functools.partial(check, **arguments)


def usual_rois(dtype: NumericType, problem: RegionProblem) -> np.ndarray:
    """Regions inside the images."""
    random = generator("timing", "rois")
    images, height, width, _ = problem.data
    rois = np.empty((problem.rois, 5))
    rois[:, 0] = random.integers(0, images, problem.rois)
    corners = np.sort(random.random((problem.rois, 2, 2)), axis=1).reshape(-1, 4)
    rois[:, 1:] = corners * [width, height, width, height]
    return dtype.encode(rois)


def timed_regions(size: int) -> Iterator[tuple[NumericType, RegionProblem]]:
    """Feature maps [2, 50, 76, C] and 512 regions per map, 7 x 7 bins, with results of
    about `size` bytes."""
    for dtype in FLOATING:
        bytes_of_a_channel = 1024 * 7 * 7 * dtype.storage.itemsize
        channels = min(1024, max(8, size // bytes_of_a_channel // 8 * 8))
        yield dtype, RegionProblem((2, 50, 76, channels), 1024, (7, 7))
