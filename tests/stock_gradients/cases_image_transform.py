# SPDX-License-Identifier: Apache-2.0
"""Gradients of projective transforms by what Python's are not: the transforms and
the value that fills up.
"""

from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal

raw = tf.raw_ops

# Of 4 rows and 6 columns they read no pixel near the border between two.
ROTATE = [0.573, -0.509, 1.066, 0.585, 0.977, -0.366, 0.015, -0.012]
PROJECT = [1.076, -0.045, -0.608, 0.047, 1.002, 0.364, 0.016, -0.009]


def _moved(
    version: int,
    name: str,
    *transforms: list[float],
    dtype: Any = np.float32,
    known_shapes: Any = False,
    **attributes: Any,
) -> Case:
    op = f"ImageProjectiveTransformV{version}"
    how = {"output_shape": [4, 6], "interpolation": "BILINEAR", **attributes}

    def build(images: Any, transforms: Any, *fill_value: Any) -> Any:
        fills = dict(zip(["fill_value"], fill_value, strict=False))
        return getattr(raw, op)(images=images, transforms=transforms, **fills, **how)

    inputs = [normal(2, 5, 6, 2).astype(dtype), np.array(transforms, np.float32)]
    if version == 3:
        inputs.append(np.array(0.5, np.float32))
    # By the images the gradient is not that of differences.
    return Case(
        op,
        f"by_{name}",
        build,
        inputs,
        wrt=list(range(1, len(inputs))),
        known_shapes=known_shapes,
        reference="numeric",
        second_order="numeric",
        step=4e-3,
        tolerance=2e-2,
    )


CASES = [
    case
    for version in (2, 3)
    for case in (
        _moved(version, "one_transform", ROTATE),
        _moved(version, "transforms", ROTATE, PROJECT, known_shapes=True),
        _moved(version, "reflected", ROTATE, PROJECT, fill_mode="REFLECT"),
        _moved(version, "wrapped", ROTATE, PROJECT, fill_mode="WRAP"),
        _moved(version, "nearest_filled", ROTATE, PROJECT, fill_mode="NEAREST"),
        _moved(version, "double", PROJECT, dtype=np.float64, known_shapes="rank"),
    )
]
