# SPDX-License-Identifier: Apache-2.0
"""What converters are made of."""

from collections.abc import Callable
from typing import Any, TypeAlias

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import _attributes, raw_ops

# _PforInput, which is private: op, inputs as (tensor, stacked, sparse), pfor.
Input: TypeAlias = Any
Output: TypeAlias = Any
Converter: TypeAlias = Callable[[Input], Any]

# Types that hold a batch index exactly only up to a few hundred or thousand.
HALF_TYPES = (tf.float16, tf.bfloat16)

_NAMES = {op: name for name, op in raw_ops.OPS.items()}


def call(vectorized: Input, *inputs: tf.Tensor) -> Any:
    """Runs the op itself on other inputs, with its own attributes."""
    op = vectorized.op
    inferred = _attributes.inferred(op.op_def)
    keywords = {
        name: _attributes.to_python(value)
        for name, value in op.node_def.attr.items()
        if not name.startswith("_") and name not in inferred
    }
    return getattr(raw_ops, _NAMES[op.type])(*inputs, **keywords)


def tensors(vectorized: Input) -> list[tf.Tensor]:
    return [t for t, _, _ in vectorized.inputs]


def elementwise(vectorized: Input) -> Output | list[Output]:
    """All inputs have one shape, and so has each output."""
    vectorized.stack_inputs()
    outputs = call(vectorized, *tensors(vectorized))
    if len(vectorized.op.outputs) == 1:
        return pfor.wrap(outputs, True)
    return [pfor.wrap(output, True) for output in outputs]


def broadcasting(vectorized: Input) -> Output:
    """Ranks may differ: the leading dimension has to stay the leading one."""
    vectorized.expanddim_inputs_for_broadcast()
    return pfor.wrap(call(vectorized, *tensors(vectorized)), True)


def fold(tensor: tf.Tensor) -> tf.Tensor:
    """[B, n, ...] as [B * n, ...]: the iterations as more of the same."""
    shape = tf.shape(tensor)
    folded = tf.concat([[shape[0] * shape[1]], shape[2:]], axis=0)
    result = tf.reshape(tensor, folded)
    result.set_shape(tf.TensorShape([None]).concatenate(tensor.shape[2:]))
    return result


def unfold(vectorized: Input, tensor: tf.Tensor) -> Output:
    """[B * n, ...] as the stacked output [B, n, ...]."""
    length = vectorized.pfor.loop_len_vector[0]
    shape = tf.shape(tensor)
    # Not -1, which an empty tensor leaves open.
    count = shape[0] // tf.maximum(length, 1)
    unfolded = tf.concat([[length, count], shape[1:]], axis=0)
    return pfor.wrap(tf.reshape(tensor, unfolded), True)
