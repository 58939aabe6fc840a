# SPDX-License-Identifier: Apache-2.0
"""The gradient of LRN's gradient, which Python has none of."""

from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal

OP = "LRNGrad"


def _gradient(name: str, *shape: int, **attributes: float) -> Case:
    """Its kernels have single precision."""

    def build(dy: Any, x: Any, y: Any) -> Any:
        return tf.raw_ops.LRNGrad(input_grads=dy, input_image=x, output_image=y, **attributes)

    return Case(
        OP,
        name,
        build,
        [normal(*shape, seed=k, dtype=np.float32) for k in range(3)],
        reference="numeric",
        second_order="numeric",
        step=1e-2,
        tolerance=2e-3,
    )


CASES = [
    _gradient("defaults", 1, 2, 1, 6),
    _gradient("narrow", 2, 1, 2, 4, depth_radius=1, bias=0.8, alpha=0.5, beta=0.7),
    _gradient("wide", 1, 1, 2, 3, depth_radius=9, beta=1.5),
    _gradient("empty", 0, 1, 2, 3),
]
