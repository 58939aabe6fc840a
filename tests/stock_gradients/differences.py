# SPDX-License-Identifier: Apache-2.0
"""Cases of ops that Python has no gradient of."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from parity import Case


def numeric(
    op: str, name: str, build: Callable[..., Any], inputs: Sequence[Any], **more: Any
) -> Case:
    """Both orders are compared with central differences.

    In single precision with wide ones: they are exact for what is quadratic.
    """
    single = any(np.asarray(value).dtype.name in ("float32", "complex64") for value in inputs)
    width: dict[str, Any] = {"step": 0.25, "tolerance": 1e-4} if single else {}
    settings = {"reference": "numeric", "second_order": "numeric", **width, **more}
    return Case(op, name, build, inputs, **settings)
