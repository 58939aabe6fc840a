# SPDX-License-Identifier: Apache-2.0
"""The cases of all ops."""

import activation_cases
import clipping_cases
import correlation_cost_cases
import elementwise_cases
import embedding_bag_cases
import normalization_cases
import pruning_cases
import region_cases
import sampling_cases
from op_case import Case

CASES: list[Case] = [
    *activation_cases.CASES,
    *clipping_cases.CASES,
    *correlation_cost_cases.CASES,
    *elementwise_cases.CASES,
    *embedding_bag_cases.CASES,
    *normalization_cases.CASES,
    *pruning_cases.CASES,
    *region_cases.CASES,
    *sampling_cases.CASES,
]
