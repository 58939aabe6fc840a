"""Checks of gradients and ops, for their authors.

`import tensorflow_ext` does not import this package: import it by name.
docs/testing_gradients.md shows how to use it.
"""

from tensorflow_ext.testing._gradient._check_gradient import check_gradient
from tensorflow_ext.testing._gradient._report import (
    Finding,
    GradientError,
    GradientReport,
    Outcome,
    Worst,
)
from tensorflow_ext.testing._op._check import check_library, check_op
from tensorflow_ext.testing._op._report import OpCheckError, OpFinding, OpReport, Verdict
from tensorflow_ext.testing._op._worker import CHECKS

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
