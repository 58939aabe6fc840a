# SPDX-License-Identifier: Apache-2.0
"""The cases of all ops."""

import elementwise_cases
import region_cases
from op_case import Case

CASES: list[Case] = [
    *elementwise_cases.CASES,
    *region_cases.CASES,
]
