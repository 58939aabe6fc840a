# SPDX-License-Identifier: Apache-2.0
"""The launchers of normalization_launchers.cc, with buffers for arguments, and
what they have to compute."""

import ctypes
import dataclasses
from collections.abc import Sequence

import numpy as np
from arguments import array
from device import Buffer, Device
from numeric import NumericType


@dataclasses.dataclass(frozen=True)
class RowNormalization:
    """LayerNorm (centered) or RmsNorm of a matrix [rows, size]."""

    device: Device
    dtype: NumericType
    centered: bool
    rows: int
    size: int

    @property
    def name(self) -> str:
        """The op's name."""
        return "LayerNorm" if self.centered else "RmsNorm"

    def forward(self, epsilon: float, tensors: Sequence[Buffer | None]) -> None:
        """x, scale, offset, y, mean, inverse; None where not centered."""
        self.device.call(
            "Kernel_RowNormalization",
            ctypes.c_int32(self.centered),
            ctypes.c_int32(self.dtype.code),
            ctypes.c_int64(self.rows),
            ctypes.c_int64(self.size),
            ctypes.c_float(epsilon),
            _addresses(tensors),
            self.device.stream,
        )

    def backward(self, tensors: Sequence[Buffer | None]) -> None:
        """gradients, those of mean and inverse, x, scale, mean, inverse,
        x_backprops, scale_backprops, offset_backprops, partial_sums."""
        self.device.call(
            "Kernel_RowNormalizationGrad",
            ctypes.c_int32(self.centered),
            ctypes.c_int32(self.dtype.code),
            ctypes.c_int64(self.rows),
            ctypes.c_int64(self.size),
            _addresses(tensors),
            self.device.stream,
        )

    def scratch(self) -> Buffer:
        """partial_sums."""
        elements = ctypes.c_int64()
        self.device.call(
            "Kernel_RowNormalizationScratch",
            ctypes.c_int32(self.centered),
            ctypes.c_int64(self.rows),
            ctypes.c_int64(self.size),
            ctypes.byref(elements),
        )
        return self.device.empty(elements.value, self.dtype.compute)


def _addresses(buffers: Sequence[Buffer | None]) -> object:
    return array(ctypes.c_void_p, [None if b is None else b.address for b in buffers])


@dataclasses.dataclass(frozen=True)
class Expected:
    """A value and how large the terms are that it is the sum of: the kernels'
    error is to be small beside these."""

    value: np.ndarray
    terms: np.ndarray


def _mean(x: np.ndarray) -> np.ndarray:
    """The mean of each row as a column; 0 for an empty one."""
    return np.sum(x, axis=1, keepdims=True) / max(x.shape[1], 1)


def normalize(
    x: np.ndarray, scale: np.ndarray, offset: np.ndarray | None, epsilon: float
) -> tuple[Expected, np.ndarray, np.ndarray]:
    """y, mean and inverse in float64; not centered if there is no offset.

    J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer Normalization",
    arXiv:1607.06450; B. Zhang and R. Sennrich, "Root Mean Square Layer
    Normalization", NeurIPS 2019.
    """
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        mean = np.zeros((len(x), 1)) if offset is None else _mean(x)
        centered = x - mean
        inverse = 1 / np.sqrt(_mean(centered**2) + np.float64(np.float32(epsilon)))
        y = centered * inverse * scale
        terms = (np.abs(x) + _mean(np.abs(x))) * inverse * np.abs(scale)
        if offset is not None:
            y, terms = y + offset, terms + np.abs(offset)
    return Expected(y, terms), mean[:, 0], inverse[:, 0]


def differentiate(
    gradients: np.ndarray,
    mean_gradients: np.ndarray | None,
    inverse_gradients: np.ndarray,
    x: np.ndarray,
    scale: np.ndarray,
    mean: np.ndarray | None,
    inverse: np.ndarray,
) -> tuple[Expected, Expected, Expected]:
    """The gradients of x, scale and offset, in float64."""
    size = max(x.shape[1], 1)
    r, dr = inverse[:, np.newaxis], inverse_gradients[:, np.newaxis]
    normal = (x if mean is None else x - mean[:, np.newaxis]) * r
    g = gradients * scale
    dx = r * (g - normal * _mean(g * normal)) - dr * r**2 * normal / size
    terms = np.abs(r) * (np.abs(g) + np.abs(normal) * _mean(np.abs(g * normal))) + np.abs(
        dr * r**2 * normal / size
    )
    if mean_gradients is not None:
        dx += mean_gradients[:, np.newaxis] / size - r * _mean(g)
        terms += np.abs(mean_gradients[:, np.newaxis]) / size + r * _mean(np.abs(g))
    return (
        Expected(dx, terms),
        Expected(np.sum(gradients * normal, axis=0), np.sum(np.abs(gradients * normal), 0)),
        Expected(np.sum(gradients, axis=0), np.sum(np.abs(gradients), axis=0)),
    )
