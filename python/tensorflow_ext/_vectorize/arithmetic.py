# SPDX-License-Identifier: Apache-2.0
"""Binary arithmetic with broadcasting."""

from tensorflow_ext._vectorize._common import Converter, Input, Output, broadcasting


def _floor_mod_grad(vectorized: Input) -> Output:
    """x and y together have the shape of the gradients, leading dimension too."""
    x_or_y_stacked = vectorized.input(1).is_stacked or vectorized.input(2).is_stacked
    vectorized.stack_inputs([0] if x_or_y_stacked else [0, 1])
    return broadcasting(vectorized)


CONVERTERS: dict[str, Converter] = {
    "floor_mod": broadcasting,
    "floor_mod_grad": _floor_mod_grad,
    "multiply_left": broadcasting,
}
