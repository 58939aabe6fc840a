# SPDX-License-Identifier: Apache-2.0
"""Activation functions, all of them elementwise."""

from tensorflow_ext._vectorize._common import Converter, elementwise

CONVERTERS: dict[str, Converter] = dict.fromkeys(
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
        "swi_glu_grad",
        "tanhshrink",
        "tanhshrink_grad",
    ),
    elementwise,
)
