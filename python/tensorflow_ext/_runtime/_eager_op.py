"""Runs an op eagerly by its name."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context, execute


def run(op_type: str, inputs: Sequence[Any], attrs: Sequence[Any], outputs: int) -> list[tf.Tensor]:
    """Runs an op as TensorFlow's generated wrappers do, so tapes record it.

    Args:
      op_type: Name of the op.
      inputs: Tensors, or values that convert to tensors; lists flattened.
      attrs: Names and values alternating, as the tape keeps them.
      outputs: Number of outputs, lists flattened.

    Raises:
      tf.errors.OpError: The kernel fails.
    """
    tensors = [tf.convert_to_tensor(value) for value in inputs]
    results = execute.execute(op_type.encode(), outputs, tensors, tuple(attrs), context.context())
    if execute.must_record_gradient():
        execute.record_gradient(op_type, tensors, tuple(attrs), results)
    return list(results)
