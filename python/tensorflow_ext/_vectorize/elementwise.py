# SPDX-License-Identifier: Apache-2.0
"""Ops whose inputs all have the shape of their output."""

from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._common import (
    Converter,
    Input,
    Output,
    call,
    elementwise,
    tensors,
)


def _reverse_gradient_n(vectorized: Input) -> list[Output]:
    """Each output is stacked if its input is."""
    outputs = call(vectorized, tensors(vectorized))
    return [
        pfor.wrap(output, stacked)
        for output, (_, stacked, _) in zip(outputs, vectorized.inputs, strict=True)
    ]


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
CONVERTERS["reverse_gradient_n"] = _reverse_gradient_n
