# SPDX-License-Identifier: Apache-2.0
"""What checks are made of: values to give to a kernel, and comparisons."""

import zlib
from collections.abc import Callable, Sequence

import numpy as np
from device import Device
from numeric import NumericType

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
        values = random.integers(-50, 50, shape)
        if special:
            limits = np.iinfo(dtype.storage)
            extremes = np.array([0, -1, limits.min, limits.max])
            values = np.where(
                random.random(shape) < 0.1, random.choice(extremes, shape), values
            )
        return values.astype(dtype.storage)
    values = 3 * random.standard_normal(shape)
    quarters = np.round(4 * values) / 4
    values = np.where(random.random(shape) < 0.5, quarters, values)
    if special:
        chosen = random.choice(np.array(special), shape)
        values = np.where(random.random(shape) < 0.1, chosen, values)
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
    same = (actual == expected) | ((actual != actual) & (expected != expected))
    with np.errstate(invalid="ignore", over="ignore"):
        allowed = roundoffs * np.maximum(
            dtype.roundoff * np.abs(expected), dtype.tiniest
        )
        near = np.abs(actual - expected) <= (allowed if roundoffs else 0) + slack
    near &= np.isfinite(actual) & np.isfinite(expected)
    near |= np.isposinf(slack)
    wrong = np.argwhere(~(same | near))
    if wrong.size:
        first = tuple(wrong[0])
        raise AssertionError(
            f"{what}: {len(wrong)} of {actual.size} wrong, first at {first}: "
            f"{actual[first]!r}, expected {expected[first]!r}"
        )
