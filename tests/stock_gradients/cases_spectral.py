"""Fourier transforms and audio features."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from old_ops import old_op
from parity import Case
from random_values import complex_normal, normal, single
from rows import case, each, ints, numeric

complex_single = functools.partial(complex_normal, dtype=np.complex64)
RANKS = (("", 1), ("2D", 2), ("3D", 3))

# ---- Over the last axes


def of_complex(op: str, rank: int) -> list[Case]:
    core = (5, 4, 3)[:rank]
    return [
        case(op, "complex128", complex_normal(*core)),
        case(op, "complex64", complex_single(*core)),
        case(op, "batch", complex_normal(2, 3, *core)),
        case(op, "known_shapes", complex_normal(2, *core), static="all"),
        case(op, "one_frequency", complex_normal(2, *([1] * rank))),
        case(op, "empty_batch", complex_normal(0, *core)),
        numeric(op, "numeric", complex_normal(2, 3, 2)[..., : 4 - rank]),
    ]


def of_real(rank: int, suffix: str, inverse: bool) -> Iterator[Case]:
    """Lengths equal to the input's, shorter (a crop), even and odd."""
    op, values = f"{'I' * inverse}RFFT{suffix}", complex_normal if inverse else normal
    lead, wide = (3, 2)[: rank - 1], (4, 4)[: rank - 1]
    # Python has no gradient in three dimensions.
    usual = case if rank < 3 else numeric

    def row(make: Any, name: str, x: np.ndarray, last: int, **more: Any) -> Case:
        is_single = x.dtype in (np.float32, np.complex64)
        types = (
            {"Treal": tf.float32 if is_single else tf.float64}
            if inverse
            else {"Tcomplex": tf.complex64 if is_single else tf.complex128}
        )
        return make(op, name, x, ints(*(3, 2)[: rank - 1], last), **types, **more)

    for last in (1, 2, 5, 6):
        size = last // 2 + 1 if inverse else last
        # Python's mask for an inverse of length 1 has a negative length.
        make = numeric if inverse and last == 1 else usual
        yield row(make, f"length{last}", values(2, *lead, size), last)
        longer = values(*wide, size + (2 if inverse else 3))
        yield row(numeric, f"length{last}_of_longer", longer, last)
    six, four = (4, 3) if inverse else (6, 4)
    if rank < 3:
        x = complex_single(*lead, 4) if inverse else single(*lead, 6)
        yield row(case, "float", x, 6)
    x = values(*lead, six)
    yield row(usual, "known_shapes", x, 6, static="all")
    yield row(numeric, "unknown_rank", x, 6, static="none")
    yield row(usual, "two_batch_axes", values(2, 2, *lead, four), 4)


# ---- Over any axes, and for old graphs: TensorFlow has kernels of neither; fft_kernels.cc has
# them.

# The shape of the input, the lengths and the axes.
TRANSFORMS: dict[str, tuple[tuple[int, ...], list[int], list[int]]] = {
    "last_axis": ((2, 5), [5], [1]),
    "last_axis_even": ((2, 4), [4], [-1]),
    "cropped": ((5, 6), [3, 4], [0, 1]),
    "padded": ((3, 2), [4, 5], [-2, -1]),
    "cropped_and_padded": ((2, 4, 3), [5, 2], [0, 1]),
    "not_the_last_axis": ((4, 3), [4], [0]),
    "axes_in_any_order": ((3, 2, 4), [4, 3], [2, 0]),
    "all_axes": ((2, 3, 2), [2, 3, 2], [0, 1, 2]),
    "one_element": ((2, 1), [1], [1]),
    "no_vectors": ((0, 4), [4], [1]),
}
WIDE: dict[str, Any] = {"step": 1.0, "tolerance": 1e-4}


def over_any_axes(op: str) -> Iterator[Case]:
    def row(name: str, transform: str, dtype: Any = np.complex128, **more: Any) -> Case:
        shape, lengths, axes = TRANSFORMS[transform]
        is_real, is_single = op == "RFFTND", dtype == np.complex64
        x = complex_normal(*shape, dtype=dtype)
        if is_real:
            x = normal(*shape, dtype=np.float32 if is_single else np.float64)
            more["Tcomplex"] = dtype
        if op == "IRFFTND":
            more["Treal"] = tf.float32 if is_single else tf.float64
        return numeric(op, name, x, ints(*lengths), axes=axes, **more)

    yield from (row(name, name) for name in TRANSFORMS)
    yield row("known_shapes", "padded", static="all")
    yield row("unknown_rank", "cropped", static="none")
    yield row("single", "axes_in_any_order", np.complex64, **WIDE)


def for_batches(op: str, rank: int) -> list[Case]:
    core = (3, 2, 4)[:rank]
    row = functools.partial(numeric, op, build=old_op(op), **WIDE)
    return [
        row("plain", complex_single(*core)),
        row("batch", complex_single(2, *core), static="all"),
        row("unknown_rank", complex_single(*core), static="none"),
        row("empty", complex_single(0, *core)),
    ]


# ---- Audio, only in single precision

power = functools.partial(
    numeric, "AudioSpectrogram", magnitude_squared=True, step=0.25, tolerance=2e-3
)
magnitude = functools.partial(
    numeric, "AudioSpectrogram", window_size=5, stride=2, step=2**-5, tolerance=2e-3
)


def mfcc(name: str, *shape: int, sample_rate: int = 16000, **more: Any) -> Case:
    how = {"sample_rate": sample_rate, "dct_coefficient_count": 4}
    return numeric("Mfcc", name, 4 + single(*shape), step=0.05, tolerance=2e-3, **how, **more)


LIMITS = {
    **{"lower_frequency_limit": 500.0, "upper_frequency_limit": 3000.0},
    "filterbank_channel_count": 6,
}
SOUND = [
    power("squared", single(10, 2), window_size=5, stride=2),
    power("power_of_two", single(9, 1), window_size=4, stride=2, static="all"),
    power("gaps", single(10, 1), window_size=3, stride=4, static="none"),
    power("two_samples", single(6, 1), window_size=2, stride=1),
    magnitude("magnitudes", single(8, 2)),
    magnitude("too_short", single(4, 2)),
    mfcc("few_triangles", 2, 1, 17, filterbank_channel_count=5),
    # The lowest ones contain no frequency.
    mfcc("many_triangles", 1, 2, 33),
    mfcc("limits", 1, 1, 12, sample_rate=8000, static="all", **LIMITS),
    mfcc("unknown_rank", 1, 2, 9, filterbank_channel_count=4, static="none"),
    mfcc("no_times", 1, 0, 9, filterbank_channel_count=4),
]

CASES = [
    *(
        one
        for suffix, rank in RANKS
        for one in (
            *of_complex(f"FFT{suffix}", rank),
            *of_complex(f"IFFT{suffix}", rank),
            *of_real(rank, suffix, inverse=False),
            *of_real(rank, suffix, inverse=True),
            *for_batches(f"BatchFFT{suffix}", rank),
            *for_batches(f"BatchIFFT{suffix}", rank),
        )
    ),
    *each("FFTND IFFTND RFFTND IRFFTND", over_any_axes),
    *SOUND,
]
