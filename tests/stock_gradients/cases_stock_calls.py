# SPDX-License-Identifier: Apache-2.0
"""Calls of functions; see cases_stock.py."""

import cases_control_flow_calls as calls
import numpy as np
from parity import Case
from random_values import complex_normal, normal

X, Y = normal(3), normal(3, seed=1)
SINGLES = [normal(3, dtype=np.float32, seed=k) for k in range(2)]
COMPLEX = [complex_normal(3), complex_normal(3, seed=1)]
TWELVE = [normal(2, seed=k) for k in range(12)]

CASES = [
    Case("PartitionedCall", "formula", calls.call, [X, Y]),
    Case("PartitionedCall", "float", calls.call, SINGLES),
    Case("PartitionedCall", "complex", calls.call, COMPLEX),
    Case("PartitionedCall", "twice", calls.call_twice, [X, Y]),
    Case("PartitionedCall", "AddN", calls.many_arguments, TWELVE),
    Case("PartitionedCall", "If", calls.call_with_branches, [X, Y]),
    Case("PartitionedCall", "Elu", calls.attention, [normal(3, 4), normal(4, 4)]),
    Case("PartitionedCall", "call", calls.call_in_call, [X, Y]),
    Case("StatefulPartitionedCall", "variable", calls.call_reads_variable, [X, Y], variables=[1]),
    Case("StatefulPartitionedCall", "random", calls.also_draws, [X]),
    Case(
        "StatefulPartitionedCall",
        "writes_another_variable",
        calls.assigns_another,
        [X, Y, X],
        wrt=[0, 1],
        variables=[1, 2],
    ),
]
