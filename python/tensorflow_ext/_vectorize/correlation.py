# SPDX-License-Identifier: Apache-2.0
"""CorrelationCost and its gradients: the images of all iterations are one batch."""

from tensorflow_ext._vectorize._common import (
    Converter,
    Input,
    Output,
    call,
    fold,
    tensors,
    unfold,
)


def _batched(vectorized: Input) -> Output:
    vectorized.stack_inputs()
    folded = [fold(tensor) for tensor in tensors(vectorized)]
    return unfold(vectorized, call(vectorized, *folded))


CONVERTERS: dict[str, Converter] = dict.fromkeys(
    ("correlation_cost", "correlation_cost_a_grad", "correlation_cost_b_grad"),
    _batched,
)
