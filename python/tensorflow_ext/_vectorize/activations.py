# SPDX-License-Identifier: Apache-2.0
"""Activation functions: elementwise ops, one of them with two outputs."""

from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._common import (
    Converter,
    Input,
    Output,
    call,
    elementwise,
    tensors,
)


def _swi_glu_grad(vectorized: Input) -> list[Output]:
    vectorized.stack_inputs()
    return [pfor.wrap(y, True) for y in call(vectorized, *tensors(vectorized))]


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(
        (
            "gelu",
            "gelu_grad",
            "hardshrink",
            "hardshrink_grad",
            "lisht",
            "lisht_grad",
            "mish",
            "mish_grad",
            "softshrink",
            "softshrink_grad",
            "swi_glu",
            "tanhshrink",
            "tanhshrink_grad",
        ),
        elementwise,
    ),
    "swi_glu_grad": _swi_glu_grad,
}
