# SPDX-License-Identifier: Apache-2.0
"""What checks are made of: values to give to a kernel, and comparisons."""

import pathlib
import sys
import zlib
from collections.abc import Callable, Sequence

import numpy as np
from device import Buffer, Device
from numeric import NumericType

# In the source tree; where this folder travels alone, the file lies beside this one.
_HERE = pathlib.Path(__file__).absolute().parent
sys.path.append(str(_HERE / "../../../python/tensorflow_ext/testing/_gradient"))
from _comparison import distances  # noqa: E402

Check = Callable[[Device], None]


def generator(*what: object) -> np.random.Generator:
    """Random numbers that depend on nothing but what they are for."""
    return np.random.default_rng(zlib.crc32(repr(what).encode()))


def random_values(
    random: np.random.Generator,
    dtype: NumericType,
    shape: tuple[int, ...],
    special: Sequence[float] = (),
) -> np.ndarray:
    """Values as they are stored: ties of rounding, and special ones among them."""
    if not dtype.is_floating:
        integers = random.integers(-50, 50, shape)
        if special:
            limits = np.iinfo(dtype.storage)
            extremes = np.array([0, -1, limits.min, limits.max])
            chosen = random.choice(extremes, shape)
            integers = np.where(random.random(shape) < 0.1, chosen, integers)
        return integers.astype(dtype.storage)
    values = 3 * random.standard_normal(shape)
    quarters = np.round(4 * values) / 4
    values = np.where(random.random(shape) < 0.5, quarters, values)
    if special:
        picked = random.choice(np.array(special), shape)
        values = np.where(random.random(shape) < 0.1, picked, values)
    return dtype.encode(values)


def assert_close(
    what: str,
    dtype: NumericType,
    stored: np.ndarray,
    expected: np.ndarray,
    roundoffs: float = 0,
    slack: np.ndarray | float = 0,
) -> None:
    """Fails where a result is further from `expected` than it may be.

    Args:
      what: For the message.
      dtype: The type of `stored`.
      stored: The kernel's output.
      expected: Values of that type.
      roundoffs: Allowed distance, relative to `expected`; 0: none at all.
      slack: Allowed distance besides; infinite: any value.
    """
    actual = dtype.decode(stored)
    assert actual.shape == expected.shape, f"{what}: {actual.shape}"
    if dtype.is_floating:
        size = np.where(np.isfinite(expected), np.abs(expected), 0)
        allowed = roundoffs * np.maximum(dtype.roundoff * size, dtype.tiniest) + slack
        wrong = np.argwhere(distances(actual, expected) > allowed)
    else:  # exact: double does not hold all integers
        wrong = np.argwhere(actual != expected)
    if wrong.size:
        first = tuple(wrong[0])
        raise AssertionError(
            f"{what}: {len(wrong)} of {actual.size} wrong, first at {first}: "
            f"{actual[first]!r}, expected {expected[first]!r}"
        )


def _bits(stored: np.ndarray) -> np.ndarray:
    """The values as integers, which NumPy compares fast, half above all."""
    return stored.view(f"u{stored.dtype.itemsize}")


def assert_repeats(
    what: str,
    device: Device,
    dtype: NumericType,
    buffer: Buffer,
    expected: np.ndarray,
    roundoffs: float = 0,
    slack: np.ndarray | float = 0,
) -> None:
    """Fails where a buffer is not `expected` over and over; see assert_close.

    The buffer may be as long as `expected`, and may end within a repetition.
    """
    first = device.download(device.part(buffer, 0, expected.shape))
    assert_close(what, dtype, first, expected, roundoffs, slack)
    if buffer.count == expected.size:
        return
    # What has the bits of the first repetition is right.
    bits, flat = _bits(first).reshape(-1), expected.reshape(-1)
    slack = np.broadcast_to(slack, expected.shape).reshape(-1)
    repeated = bits
    for start, values in device.chunks(buffer, flat.size):
        if repeated.size < values.size:
            repeated = np.tile(bits, -(-values.size // bits.size))
        if not np.array_equal(_bits(values), repeated[: values.size]):
            other = np.flatnonzero(_bits(values) != repeated[: values.size])
            place = other % flat.size
            name = f"{what}, repeated from element {start} on"
            wanted = flat[place]
            assert_close(name, dtype, values[other], wanted, roundoffs, slack[place])


def assert_last(
    what: str,
    device: Device,
    dtype: NumericType,
    buffer: Buffer,
    expected: np.ndarray,
    roundoffs: float = 0,
    slack: np.ndarray | float = 0,
) -> None:
    """Fails where a buffer does not end in `expected`, behind nothing but zeros;
    see assert_close."""
    zeros = buffer.count - expected.size
    for start, values in device.chunks(device.part(buffer, 0, zeros), 1):
        bits = _bits(values)
        is_zero = not bits.any() or not np.any(bits << 1)  # but for the sign
        assert is_zero, f"{what}: not 0 everywhere from element {start} on"
    last = device.download(device.part(buffer, zeros, expected.shape))
    assert_close(what, dtype, last, expected, roundoffs, slack)


def copies_beyond(elements: int, size: int) -> int:
    """How many copies of `size` elements have more than `elements`, the whole of
    the last one behind them."""
    return -(-elements // size) + 1
