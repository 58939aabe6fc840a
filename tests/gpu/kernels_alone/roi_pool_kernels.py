# SPDX-License-Identifier: Apache-2.0
"""RoiPool's launchers, and what they compute in NumPy and float64."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from arguments import address, array, float_sums
from device import Buffer, Device
from numeric import NumericType


class RoiPool:
    """The launchers of RoiPool for one set of shapes and one type."""

    def __init__(
        self,
        device: Device,
        dtype: NumericType,
        data_shape: Sequence[int],
        rois: int,
        bins: Sequence[int],
    ) -> None:
        """`data_shape` is N, H, W, C; `bins` pooled_height and pooled_width."""
        self._device = device
        self._dtype = dtype
        self.data_shape = tuple(data_shape)
        self.pooled_shape = (rois, *bins, data_shape[-1])
        self._dims = array(ctypes.c_int64, [*data_shape, rois, *bins])

    def _call(self, name: str, *arguments: Any) -> None:
        code = ctypes.c_int32(self._dtype.code)
        stream = self._device.stream
        self._device.call(name, code, self._dims, *arguments, stream)

    def forward(
        self, scale: float, data: Buffer, rois: Buffer, pooled: Buffer, argmax: Buffer
    ) -> None:
        """Launches LaunchRoiPool."""
        buffers = map(address, (data, rois, pooled, argmax))
        self._call("Kernel_RoiPool", ctypes.c_float(scale), *buffers)

    def scratch(self, deterministic: bool) -> Buffer | None:
        """What the gradient needs beside its output."""
        if deterministic:
            rois, height = self.pooled_shape[:2]
            return self._device.empty(2 * rois * (1 + height), np.int32)
        return float_sums(self._device, self._dtype, self.data_shape)

    def grad(
        self,
        deterministic: bool,
        gradients: Buffer,
        rois: Buffer,
        argmax: Buffer,
        scratch: Buffer | None,
        backprops: Buffer,
    ) -> None:
        """Launches LaunchRoiPoolGrad or LaunchRoiPoolGradDeterministic."""
        name = "Kernel_RoiPoolGrad" + ("Deterministic" if deterministic else "")
        buffers = map(address, (gradients, rois, argmax, scratch, backprops))
        self._call(name, *buffers)

    def grad_grad(self, gradients: Buffer, rois: Buffer, argmax: Buffer, backprops: Buffer) -> None:
        """Launches LaunchRoiPoolGradGrad."""
        buffers = map(address, (gradients, rois, argmax, backprops))
        self._call("Kernel_RoiPoolGradGrad", *buffers)


_MAX_CORNER = 2.0**30


def _corner(value: np.floating, scale: np.floating) -> int:
    """The scaled corner, rounded half away from zero."""
    exact = float(value * scale)
    if np.isinf(exact):
        return int(np.copysign(_MAX_CORNER, exact))
    whole = np.trunc(exact)
    if abs(exact - whole) >= 0.5:
        whole += np.copysign(1, exact)
    return int(np.clip(whole, -_MAX_CORNER, _MAX_CORNER))


def _image(batch: float, images: int) -> int:
    return int(batch) if 0 <= batch < images else -1


def _bin(begin: int, length: int, i: int, bins: int, pixels: int) -> slice:
    first = begin + i * length // bins
    last = begin - (-(i + 1) * length // bins)
    return slice(min(max(first, 0), pixels), min(max(last, 0), pixels))


def roi_pool(
    data: np.ndarray, rois: np.ndarray, scale: float, bins: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Pooled values and argmax.

    R. Girshick, "Fast R-CNN", ICCV 2015, section 2.1.

    Args:
      data: [N, H, W, C] of float64.
      rois: [R, 5] in the compute type, in which corners are scaled.
      scale: spatial_scale.
      bins: pooled_height, pooled_width.
    """
    images, height, width, channels = data.shape
    pooled = np.zeros((len(rois), *bins, channels))
    argmax = np.full(pooled.shape, -1, np.int32)
    for r, (batch, *corners) in enumerate(rois):
        image = _image(float(batch), images)
        if image < 0 or np.any(np.isnan(corners)):
            continue
        factor = rois.dtype.type(np.float32(scale))
        x1, y1, x2, y2 = (_corner(c, factor) for c in corners)
        for i, j in np.ndindex(*bins):
            rows = _bin(y1, max(y2 - y1 + 1, 1), i, bins[0], height)
            columns = _bin(x1, max(x2 - x1 + 1, 1), j, bins[1], width)
            window = data[image, rows, columns]
            if window.size == 0:
                continue
            # The first of equals, and NaN above all, as np.argmax has it.
            flat = np.argmax(window.reshape(-1, channels), axis=0)
            h, w = np.divmod(flat, window.shape[1])
            h, w, c = h + rows.start, w + columns.start, np.arange(channels)
            pooled[r, i, j] = data[image, h, w, c]
            argmax[r, i, j] = (h * width + w) * channels + c
    return pooled, argmax


def roi_elements(rois: np.ndarray, argmax: np.ndarray, data_shape: Sequence[int]) -> np.ndarray:
    """The element of data that each entry of argmax names; -1 for none."""
    images, *image_shape = data_shape
    image_size = int(np.prod(image_shape))
    channels = data_shape[-1]
    image = np.array([_image(float(batch), images) for batch in rois[:, 0]], np.int64)
    image = image.reshape(-1, 1, 1, 1)
    known = (image >= 0) & (argmax >= 0) & (argmax < image_size)
    known &= argmax % max(channels, 1) == np.arange(channels)
    return np.where(known, image * image_size + argmax, -1)


def roi_pool_grad(
    gradients: np.ndarray, elements: np.ndarray, data_shape: Sequence[int]
) -> np.ndarray:
    """Gradients added at their elements, in order, in the gradients' own type."""
    sums = np.zeros(int(np.prod(data_shape)), gradients.dtype)
    known = elements >= 0
    np.add.at(sums, elements[known], gradients[known])
    return sums.reshape(data_shape)


def roi_pool_grad_grad(gradients: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """The gradients at the elements; 0 for none."""
    if gradients.size == 0:
        return np.zeros(elements.shape)
    return np.where(elements >= 0, gradients.reshape(-1)[np.maximum(elements, 0)], 0)
