# SPDX-License-Identifier: Apache-2.0
"""Matrices for kernels that work on rows (tensorflow_ext/kernels/rows_gpu.cuh)."""

from collections.abc import Iterator

from checking import copies_beyond
from numeric import FLOATING, NumericType

# Row sizes around the pack, the warp and the registers of a warp and a block, and beyond; full and
# partial parts of the rows.
ROW_SHAPES = (
    (1, 1),
    (3, 2),
    (70, 7),
    (9, 8),
    (257, 32),
    (65, 33),
    (5, 128),
    (6, 136),
    (4, 255),
    (3, 256),
    (2, 257),
    (3, 512),
    (5, 1000),
    (2, 1024),
    (3, 1032),
    (2, 4096),
    (3, 8192),
    (2, 8200),
    (2, 16384),
    (2, 16392),
    (1, 30001),
    (16500, 4),
    (0, 8),
    (3, 0),
    (0, 0),
)


def large_shapes(beyond: int) -> Iterator[tuple[int, int, int]]:
    """(rows, size, copies) of repeating matrices with more than `beyond` elements."""
    for size in (1024, 1031):  # with packs, and without
        copies = copies_beyond(beyond, 31 * size)
        yield copies * 31, size, copies


def timed_shapes(size: int) -> Iterator[tuple[NumericType, int, int]]:
    """(type, rows, columns) of matrices of `size` bytes with short, usual and long rows."""
    for dtype in FLOATING:
        for columns in (64, 1024, 16384):
            yield dtype, max(1, size // dtype.storage.itemsize // columns), columns
