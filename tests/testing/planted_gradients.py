"""Python registrations for the ops of planted_ops.cc: gradients and rules of tf.vectorized_map."""

from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_library
from tensorflow.python.ops.parallel_for import pfor


@tf.RegisterGradient("Planted>NoGradientOfX")
def _none(op: tf.Operation, dy: tf.Tensor) -> None:
    del op, dy
    return None


@tf.RegisterGradient("Planted>OtherInC")
def _twice(op: tf.Operation, dy: tf.Tensor) -> tf.Tensor:
    return 2 * op.inputs[0] * dy


def _call(vectorized: Any) -> tf.Tensor:
    x, _, _ = vectorized.inputs[0]
    return op_def_library.apply_op(vectorized.op.type, x=x)


@pfor.RegisterPFor("Planted>Right")
def _elementwise(vectorized: Any) -> Any:
    return pfor.wrap(_call(vectorized), True)


@pfor.RegisterPFor("Planted>OtherWhenVectorized")
def _reversed(vectorized: Any) -> Any:
    return pfor.wrap(tf.reverse(_call(vectorized), [0]), True)
