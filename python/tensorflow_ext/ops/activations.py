# SPDX-License-Identifier: Apache-2.0
"""Activation functions."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["relu"]


@op
def relu(features: TensorLike, *, name: str | None = None) -> tf.Tensor:
    """Rectified linear unit: max(features, 0).

    Gradient: dy where features > 0, else 0 (also where features is NaN).

    Args:
      features: Tensor of type F and any shape.
      name: Name for the op.

    Returns:
      Tensor of the same type and shape.

    Source: V. Nair and G. E. Hinton, "Rectified Linear Units Improve Restricted
    Boltzmann Machines", ICML 2010.
    """
    return raw_ops.relu(features, name)
