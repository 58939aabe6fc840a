# SPDX-License-Identifier: Apache-2.0
"""Cases of the spectral family: Fourier transforms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal


def _complex_cases() -> list[Case]:
    cases = []
    for rank in (1, 2, 3):
        suffix = "" if rank == 1 else f"{rank}D"
        core = (5, 4, 3)[:rank]
        for op in (f"FFT{suffix}", f"IFFT{suffix}"):
            function = getattr(tf.raw_ops, op)

            def build(x: Any, function: Callable[..., Any] = function) -> Any:
                return function(input=x)

            cases += [
                Case(op, "complex128", build, [complex_normal(*core)]),
                Case(op, "complex64", build, [complex_normal(*core, dtype=np.complex64)]),
                Case(op, "batch", build, [complex_normal(2, 3, *core)]),
                Case(op, "known_shapes", build, [complex_normal(2, *core)], known_shapes=True),
                Case(op, "one_frequency", build, [complex_normal(2, *([1] * rank))]),
                Case(op, "empty_batch", build, [complex_normal(0, *core)]),
                Case(
                    op,
                    "numeric",
                    build,
                    [complex_normal(2, 3, 2)[..., : 4 - rank]],
                    reference="numeric",
                    second_order="numeric",
                ),
            ]
    return cases


def _real_cases() -> list[Case]:
    """Lengths equal to the input's, shorter (a crop), even and odd."""
    cases = []
    for rank in (1, 2, 3):
        suffix = "" if rank == 1 else f"{rank}D"
        rfft, irfft = f"RFFT{suffix}", f"IRFFT{suffix}"

        def forward(x: Any, length: Any, op: str = rfft) -> Any:
            out = tf.complex64 if x.dtype == tf.float32 else tf.complex128
            return getattr(tf.raw_ops, op)(input=x, fft_length=length, Tcomplex=out)

        def inverse(x: Any, length: Any, op: str = irfft) -> Any:
            out = tf.float32 if x.dtype == tf.complex64 else tf.float64
            return getattr(tf.raw_ops, op)(input=x, fft_length=length, Treal=out)

        def lengths(last: int, rank: int = rank) -> np.ndarray:
            return np.array([*[3, 2][: rank - 1], last], np.int32)

        # Python has no gradient in three dimensions.
        python = "python" if rank < 3 else "numeric"
        lead = (3, 2)[: rank - 1]
        wide = (4, 4)[: rank - 1]
        for last in (1, 2, 5, 6):
            parity = f"length{last}"
            half = last // 2 + 1
            # Python's mask for an inverse of length 1 has a negative length.
            usual = python if last > 1 else "numeric"
            cases += [
                Case(
                    rfft,
                    f"{parity}",
                    forward,
                    [normal(2, *lead, last), lengths(last)],
                    reference=python,
                    second_order=python,
                ),
                Case(
                    irfft,
                    f"{parity}",
                    inverse,
                    [complex_normal(2, *lead, half), lengths(last)],
                    reference=usual,
                    second_order=usual,
                ),
                Case(
                    rfft,
                    f"{parity}_of_longer",
                    forward,
                    [normal(*wide, last + 3), lengths(last)],
                    reference="numeric",
                    second_order="numeric",
                ),
                Case(
                    irfft,
                    f"{parity}_of_longer",
                    inverse,
                    [complex_normal(*wide, half + 2), lengths(last)],
                    reference="numeric",
                    second_order="numeric",
                ),
            ]
        if rank < 3:
            cases += [
                Case(rfft, "float", forward, [normal(*lead, 6, dtype=np.float32), lengths(6)]),
                Case(
                    irfft,
                    "float",
                    inverse,
                    [complex_normal(*lead, 4, dtype=np.complex64), lengths(6)],
                ),
            ]
        cases += [
            Case(
                rfft,
                "known_shapes",
                forward,
                [normal(*lead, 6), lengths(6)],
                reference=python,
                second_order=python,
                known_shapes=True,
            ),
            Case(
                irfft,
                "known_shapes",
                inverse,
                [complex_normal(*lead, 4), lengths(6)],
                reference=python,
                second_order=python,
                known_shapes=True,
            ),
            Case(
                rfft,
                "unknown_rank",
                forward,
                [normal(*lead, 6), lengths(6)],
                reference="numeric",
                second_order="numeric",
                known_shapes="rank",
            ),
            Case(
                irfft,
                "unknown_rank",
                inverse,
                [complex_normal(*lead, 4), lengths(6)],
                reference="numeric",
                second_order="numeric",
                known_shapes="rank",
            ),
            Case(
                rfft,
                "two_batch_axes",
                forward,
                [normal(2, 2, *lead, 4), lengths(4)],
                reference=python,
                second_order=python,
            ),
            Case(
                irfft,
                "two_batch_axes",
                inverse,
                [complex_normal(2, 2, *lead, 3), lengths(4)],
                reference=python,
                second_order=python,
            ),
        ]
    return cases


CASES = _complex_cases() + _real_cases()
