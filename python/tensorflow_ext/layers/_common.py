# SPDX-License-Identifier: Apache-2.0
"""What several families of layers share."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import keras

Shape: TypeAlias = Sequence[int | None]


class SameShape(keras.layers.Layer):
    """A layer of the shape of its input."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return input_shape
