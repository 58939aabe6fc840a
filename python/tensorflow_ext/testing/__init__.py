# SPDX-License-Identifier: Apache-2.0
"""Checks of gradients and ops, for those who write them.

`import tensorflow_ext` leaves this package out: import it by its name.
docs/testing_gradients.md says how to use it.
"""

from tensorflow_ext.testing._check_gradient import check_gradient
from tensorflow_ext.testing._op_check import check_library, check_op
from tensorflow_ext.testing._op_report import OpCheckError, OpFinding, OpReport, Verdict
from tensorflow_ext.testing._op_worker import CHECKS
from tensorflow_ext.testing._report import Finding, GradientError, GradientReport, Outcome, Worst

__all__ = [
    "CHECKS",
    "Finding",
    "GradientError",
    "GradientReport",
    "OpCheckError",
    "OpFinding",
    "OpReport",
    "Outcome",
    "Verdict",
    "Worst",
    "check_gradient",
    "check_library",
    "check_op",
]
