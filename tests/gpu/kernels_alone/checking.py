"""Parts of checks: values for kernels, and comparisons."""

import pathlib
import sys
import zlib
from collections.abc import Callable, Sequence

import numpy as np
from device import Buffer, Device
from numeric import NumericType

# The source tree has the file; if this folder was copied alone, it is in this folder.
_HERE = pathlib.Path(__file__).absolute().parent
sys.path.append(str(_HERE / "../../../python/tensorflow_ext/testing/_gradient"))
from _comparison import distances  # noqa: E402

Check = Callable[[Device], None]


def generator(*what: object) -> np.random.Generator:
    """Random numbers that depend only on their purpose."""
    return np.random.default_rng(zlib.crc32(repr(what).encode()))


def random_values(
    random: np.random.Generator,
    dtype: NumericType,
    shape: tuple[int, ...],
    special: Sequence[float] = (),
) -> np.ndarray:
    """Values in their storage type, including ties of rounding and special values."""
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
    """Fails if a result is too far from `expected`.

    Args:
      what: The name for the message.
      dtype: The type of `stored`.
      stored: The kernel's output.
      expected: Values of that type.
      roundoffs: Allowed distance, relative to `expected`; 0 means exact.
      slack: Additional allowed distance; infinite allows any value.
    """
    actual = dtype.decode(stored)
    assert actual.shape == expected.shape, f"{what}: {actual.shape}"
    if dtype.is_floating:
        size = np.where(np.isfinite(expected), np.abs(expected), 0)
        allowed = roundoffs * np.maximum(dtype.roundoff * size, dtype.tiniest) + slack
        wrong = np.argwhere(distances(actual, expected) > allowed)
    else:  # exact, because double does not hold all integers
        wrong = np.argwhere(actual != expected)
    if wrong.size:
        first = tuple(wrong[0])
        raise AssertionError(
            f"{what}: {len(wrong)} of {actual.size} wrong, first at {first}: "
            f"{actual[first]!r}, expected {expected[first]!r}"
        )


def _bits(stored: np.ndarray) -> np.ndarray:
    """The values as integers, which NumPy compares fast, especially half."""
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
    """Fails if a buffer does not repeat `expected`; see assert_close.

    The buffer may be as long as `expected`, and may end within a repetition.
    """
    first = device.download(device.part(buffer, 0, expected.shape))
    assert_close(what, dtype, first, expected, roundoffs, slack)
    if buffer.count == expected.size:
        return
    # Copies with the same bits as a correct first repetition are correct.
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
    """Fails unless a buffer ends in `expected`, after nothing but zeros; see
    assert_close."""
    zeros = buffer.count - expected.size
    for start, values in device.chunks(device.part(buffer, 0, zeros), 1):
        bits = _bits(values)
        is_zero = not bits.any() or not np.any(bits << 1)  # except for the sign
        assert is_zero, f"{what}: not 0 everywhere from element {start} on"
    last = device.download(device.part(buffer, zeros, expected.shape))
    assert_close(what, dtype, last, expected, roundoffs, slack)


def copies_beyond(elements: int, size: int) -> int:
    """The number of copies of `size` elements that exceed `elements`, even without the
    last one."""
    return -(-elements // size) + 1
