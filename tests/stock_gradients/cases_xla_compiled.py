# SPDX-License-Identifier: Apache-2.0
"""XLA's ops in functions that XLA compiles, and their gradients with them.

The ops run by themselves in the other cases, and each op of their gradients as well.
"""

import dataclasses
from typing import Any

import cases_xla_convolution
import cases_xla_ops
import tensorflow as tf
from parity import Case

_NAMES = {
    "XlaBroadcastHelper": "lhs",
    "XlaConcatND": "padded",
    "XlaConv": "groups",
    "XlaConvV2": "batch_groups",
    "XlaDot": "batch",
    "XlaDotV2": "two_of_each",
    "XlaDynamicSlice": "beyond_the_end_int32",
    "XlaDynamicUpdateSlice": "complex_int32",
    "XlaGather": "known_shapes",
    "XlaKeyValueSort": "rows",
    "XlaOptimizationBarrier": "of_all_kinds",
    "XlaPad": "cropped",
    "XlaReducePrecision": "float",
    "XlaSelfAdjointEig": "upper",
    "XlaSort": "rows",
    "XlaSplitND": "padded",
    "XlaSvd": "tall",
}


def _compiled(case: Case) -> Case:
    def build(*inputs: Any) -> Any:
        return tf.function(case.build, jit_compile=True)(*inputs)

    return dataclasses.replace(case, name=f"{case.name}_compiled", build=build, known_shapes=True)


CASES = [
    _compiled(case)
    for case in [*cases_xla_ops.CASES, *cases_xla_convolution.CASES]
    if case.name == _NAMES[case.op]
]
