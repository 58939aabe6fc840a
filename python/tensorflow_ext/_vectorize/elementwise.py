# SPDX-License-Identifier: Apache-2.0
"""Ops whose inputs all have the shape of their output."""

from tensorflow_ext._vectorize._common import Converter, elementwise

CONVERTERS: dict[str, Converter] = dict.fromkeys(
    (
        "relu",
        "relu_grad",
        "sign_straight_through",
        "sign_straight_through_grad",
        "round_straight_through",
        "reverse_gradient",
        "scale_gradient",
        "scale",
        "clip_gradient",
        "clip",
        "clip_grad",
        "straight_through",
        "no_gradient",
    ),
    elementwise,
)
