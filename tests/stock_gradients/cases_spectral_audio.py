# SPDX-License-Identifier: Apache-2.0
"""Features of sound, which TensorFlow has in single precision alone."""

from typing import Any

import numpy as np
import tensorflow as tf
from differences import numeric
from parity import Case
from random_values import normal

raw = tf.raw_ops


def spectrogram(name: str, *shape: int, size: int = 5, step: int = 2, **more: Any) -> Case:
    squared = more.pop("squared", False)

    def build(x: Any) -> Any:
        return raw.AudioSpectrogram(
            input=x, window_size=size, stride=step, magnitude_squared=squared
        )

    settings = {"step": 0.25 if squared else 2**-5, "tolerance": 2e-3, **more}
    x = normal(*shape, dtype=np.float32)
    return numeric("AudioSpectrogram", name, build, [x], **settings)


SPECTROGRAMS = [
    spectrogram("squared", 10, 2, squared=True),
    spectrogram("power_of_two", 9, 1, size=4, squared=True, known_shapes=True),
    spectrogram("gaps", 10, 1, size=3, step=4, squared=True, known_shapes="rank"),
    spectrogram("two_samples", 6, 1, size=2, step=1, squared=True),
    spectrogram("magnitudes", 8, 2),
    spectrogram("too_short", 4, 2),
]


def coefficients(name: str, *shape: int, rate: int = 16000, **more: Any) -> Case:
    known_shapes = more.pop("known_shapes", False)

    def build(x: Any) -> Any:
        return raw.Mfcc(spectrogram=x, sample_rate=rate, dct_coefficient_count=4, **more)

    x = 4 + normal(*shape, dtype=np.float32)
    return numeric("Mfcc", name, build, [x], step=0.05, tolerance=2e-3, known_shapes=known_shapes)


COEFFICIENTS = [
    coefficients("few_triangles", 2, 1, 17, filterbank_channel_count=5),
    # The lowest ones meet no frequency.
    coefficients("many_triangles", 1, 2, 33),
    coefficients(
        "limits",
        1,
        1,
        12,
        rate=8000,
        filterbank_channel_count=6,
        lower_frequency_limit=500.0,
        upper_frequency_limit=3000.0,
        known_shapes=True,
    ),
    coefficients("unknown_rank", 1, 2, 9, filterbank_channel_count=4, known_shapes="rank"),
    coefficients("no_times", 1, 0, 9, filterbank_channel_count=4),
]

CASES = [*SPECTROGRAMS, *COEFFICIENTS]
