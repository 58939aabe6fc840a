# SPDX-License-Identifier: Apache-2.0
"""What every op's function is made of."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy.typing as npt
import tensorflow as tf
from tensorflow.python.autograph.impl import api as autograph

# What tf.convert_to_tensor takes.
TensorLike: TypeAlias = tf.Tensor | tf.Variable | npt.ArrayLike

_Function = TypeVar("_Function", bound=Callable)


def op(function: _Function) -> _Function:
    """Tells AutoGraph that there is no Python control flow to convert."""
    return autograph.autograph_artifact(function)
