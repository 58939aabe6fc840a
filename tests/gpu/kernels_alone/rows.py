"""Launches of the kernels: rows of the table of times, and checks for every launch."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from checking import generator, random_values
from device import Buffer, Device
from numeric import FLOATING, NumericType


@dataclasses.dataclass
class Row:
    """One launch.

    Attributes:
      name: The kernel, for the table of times.
      dtype: The type, and the shape if that matters.
      size: The bytes that it must move.
      work: Launches it.
      repeatable: The outputs that have the same bits each time.
    """

    name: str
    dtype: str
    size: int
    work: Callable[[], None]
    repeatable: Sequence[Buffer] = ()


def random_buffer(device: Device, dtype: NumericType, shape: int | Sequence[int]) -> Buffer:
    """Random values of a type."""
    return device.tile(_pattern(dtype, min(int(np.prod(shape)), 1 << 20)), shape)


@functools.cache
def _pattern(dtype: NumericType, count: int) -> np.ndarray:
    return random_values(generator("timing"), dtype, (count,))


def check_streams(
    device: Device, rows: Callable[..., Iterable[Row]], problems: Iterable[tuple]
) -> None:
    """Every launch puts its work only on the stream that it is given."""
    for dtype, problem in itertools.product(FLOATING, problems):
        with device.memory():
            for row in rows(device, dtype, *problem):
                assert device.recorded(row.work) >= 1, f"{row.name}: not on its stream"


def check_repeatable(device: Device, rows: Callable[[Device], Iterable[Row]]) -> None:
    """A deterministic launch gives the same bits ten times."""
    with device.memory():
        tested = [row for row in rows(device) if row.repeatable]
        assert tested
        for row in tested:
            results = set()
            for _ in range(10):
                row.work()
                outputs = [device.download(output).tobytes() for output in row.repeatable]
                results.add(b"".join(outputs))
            assert len(results) == 1, f"{row.name} differs from one call to the next"
