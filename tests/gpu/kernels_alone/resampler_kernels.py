# SPDX-License-Identifier: Apache-2.0
"""Resampler's launchers, and what they compute in NumPy and float64."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from arguments import address, array, float_sums
from device import Buffer, Device
from numeric import NumericType

Order = tuple[int, int]


class Resampler:
    """The launchers of Resampler for one set of shapes and one type."""

    def __init__(
        self, device: Device, dtype: NumericType, data_shape: Sequence[int], points: int
    ) -> None:
        """`data_shape` is N, H, W, C; `points` are those of an image."""
        self.device = device
        self.dtype = dtype
        self.data_shape = tuple(data_shape)
        self.warp_shape = (data_shape[0], points, 2)
        self.output_shape = (data_shape[0], points, data_shape[-1])
        self._dims = array(ctypes.c_int64, [*data_shape, points])

    def _call(self, name: str, *arguments: Any) -> None:
        code = ctypes.c_int32(self.dtype.code)
        self.device.call(name, code, self._dims, *arguments, self.device.stream)

    def sums(self) -> Buffer | None:
        """What the gradient of data needs beside its output."""
        return float_sums(self.device, self.dtype, self.data_shape)

    def forward(self, order: Order, data: Buffer, warp: Buffer, output: Buffer) -> None:
        """Launches LaunchResample."""
        orders = map(ctypes.c_int32, order)
        self._call("Kernel_Resample", *orders, *map(address, (data, warp, output)))

    def warp_grad(self, gradients: Buffer, data: Buffer, warp: Buffer, backprops: Buffer) -> None:
        """Launches LaunchResamplerWarpGrad."""
        buffers = map(address, (gradients, data, warp, backprops))
        self._call("Kernel_ResamplerWarpGrad", *buffers)

    def adjoint(
        self,
        order: Order,
        deterministic: bool,
        gradients: Buffer,
        warp: Buffer,
        sums: Buffer | None,
        backprops: Buffer,
    ) -> None:
        """Launches LaunchResamplerAdjoint."""
        numbers = map(ctypes.c_int32, (*order, deterministic))
        buffers = map(address, (gradients, warp, sums, backprops))
        self._call("Kernel_ResamplerAdjoint", *numbers, *buffers)


def weights(warp: np.ndarray, height: int, width: int, order: Order) -> np.ndarray:
    """Every pixel's weight in every point, [N, P, H, W].

    M. Jaderberg et al., "Spatial Transformer Networks", NeurIPS 2015, section
    3.3; differentiated `order` times by x and y.
    """
    x = _side(warp[..., 0], width, order[0])
    y = _side(warp[..., 1], height, order[1])
    return y[..., :, np.newaxis] * x[..., np.newaxis, :]


def _side(at: np.ndarray, pixels: int, order: int) -> np.ndarray:
    inside = (at > -1) & (at < pixels)
    at = np.where(inside, at, 0)[..., np.newaxis]
    low = np.floor(at)
    fraction = at - low
    below, above = (-1.0, 1.0) if order else (1 - fraction, fraction)
    pixel = np.arange(pixels)
    result = np.where(pixel == low, below, 0) + np.where(pixel == low + 1, above, 0)
    return np.where(inside[..., np.newaxis], result, 0)
