"""Matrices for kernels that work on rows (tensorflow_ext/kernels/rows_gpu.cuh)."""

import dataclasses
import struct
from collections.abc import Iterator

from checking import copies_beyond
from device import Buffer, Device
from numeric import FLOATING, NumericType


@dataclasses.dataclass(frozen=True)
class RowProblem:
    """A matrix [rows, size] that consists of `copies` equal parts; addresses are `offset` elements
    off their alignment."""

    device: Device
    dtype: NumericType
    rows: int
    size: int
    copies: int = 1
    offset: int = 0
    in_place: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """The values of one copy."""
        return self.rows // self.copies, self.size

    @property
    def dims(self) -> bytes:
        return struct.pack("2q", self.rows, self.size)

    def output(self, source: Buffer) -> Buffer:
        """An output of an input's shape, or that input."""
        if self.in_place:
            return source
        return self.device.empty(source.shape, source.dtype, self.offset)

    def variants(self) -> Iterator["RowProblem"]:
        """This problem and, if it is small, the same in place and off the alignment."""
        yield self
        if self.copies == 1:
            yield dataclasses.replace(self, in_place=True)
            yield dataclasses.replace(self, offset=1)


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
