# SPDX-License-Identifier: Apache-2.0
"""RoiAlign's launchers, and what they compute in NumPy and float64."""

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from arguments import address, array, float_sums
from device import Buffer, Device
from numeric import NumericType


@dataclasses.dataclass(frozen=True)
class RoiAlignOptions:
    """RoiAlign's attributes beside the number of bins."""

    scale: float = 1.0
    sampling_ratio: int = 0
    aligned: bool = True


class RoiAlign:
    """The launchers of RoiAlign for one set of shapes and one type."""

    def __init__(
        self,
        device: Device,
        dtype: NumericType,
        data_shape: Sequence[int],
        rois: int,
        bins: Sequence[int],
        options: RoiAlignOptions,
    ) -> None:
        """`data_shape` is N, H, W, C; `bins` pooled_height and pooled_width."""
        self._device = device
        self._dtype = dtype
        self.data_shape = tuple(data_shape)
        self.pooled_shape = (rois, *bins, data_shape[-1])
        self._type = ctypes.c_int32(dtype.code)
        self._dims = array(ctypes.c_int64, [*data_shape, rois, *bins])
        self._options = (
            ctypes.c_float(options.scale),
            ctypes.c_int64(options.sampling_ratio),
            ctypes.c_int32(options.aligned),
        )

    def _call(self, name: str, *arguments: Any) -> None:
        stream = self._device.stream
        first = self._type, self._dims, *self._options
        self._device.call(name, *first, *arguments, stream)

    def scratch(self) -> Buffer:
        """What either launcher lays the weights down in."""
        size = ctypes.c_int64()
        arguments = self._type, self._dims, ctypes.byref(size)
        self._device.call("Kernel_RoiAlignScratchBytes", *arguments)
        return self._device.empty(size.value, np.uint8)

    def sums(self) -> Buffer | None:
        """What the gradient needs beside its output."""
        return float_sums(self._device, self._dtype, self.data_shape)

    def forward(self, data: Buffer, rois: Buffer, scratch: Buffer, pooled: Buffer) -> None:
        """Launches LaunchRoiAlign."""
        self._call("Kernel_RoiAlign", *map(address, (data, rois, scratch, pooled)))

    def grad(
        self,
        deterministic: bool,
        gradients: Buffer,
        rois: Buffer,
        scratch: Buffer,
        sums: Buffer | None,
        backprops: Buffer,
    ) -> None:
        """Launches LaunchRoiAlignGrad."""
        buffers = map(address, (gradients, rois, scratch, sums, backprops))
        self._call("Kernel_RoiAlignGrad", ctypes.c_int32(deterministic), *buffers)


def samples(
    first: np.floating, last: np.floating, bins: int, options: RoiAlignOptions
) -> np.ndarray:
    """Where the samples of each bin lie along a side, [bins, count].

    In the type of the corners, the compute type, in which a kernel decides
    whether a sample lies outside of the image.
    """
    number = type(first)
    offset = number(0.5 if options.aligned else 0)
    with np.errstate(invalid="ignore", over="ignore"):
        begin = first * number(options.scale) - offset
        size = last * number(options.scale) - offset - begin
        if not (np.isfinite(begin) and np.isfinite(size)):
            return np.empty((bins, 0), number)
        if not options.aligned:
            size = max(size, number(1))
        size = size / number(bins)
        count = options.sampling_ratio or max(int(np.ceil(size)), 0)
        if count == 0 or count > 1e6:  # nothing, or next to nothing in an image
            return np.empty((bins, 0), number)
        inner = (np.arange(count).astype(number) + number(0.5)) * (size / number(count))
        return begin + np.arange(bins).astype(number)[:, np.newaxis] * size + inner


def weights(positions: np.ndarray, pixels: int) -> np.ndarray:
    """The mean over each bin's samples of the pixels' weights, [bins, pixels].

    K. He et al., "Mask R-CNN", ICCV 2017, section 3; at the edges as torchvision.
    """
    bins, count = positions.shape
    result = np.zeros((bins, pixels))
    if not (count and pixels):
        return result
    inside = (positions >= -1) & (positions <= pixels)
    at = np.clip(positions.astype(np.float64), 0, pixels - 1)
    low = np.where(inside, np.floor(at), 0).astype(np.int64)
    high = np.minimum(low + 1, pixels - 1)
    fraction = np.where(inside, at - low, 0)
    row = np.broadcast_to(np.arange(bins)[:, np.newaxis], at.shape)
    np.add.at(result, (row, low), np.where(inside, 1 - fraction, 0) / count)
    np.add.at(result, (row, high), fraction / count)
    return result
