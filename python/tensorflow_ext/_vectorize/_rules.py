"""Rules for ops that work element by element or row by row, and helpers of all rules.

A rule gets the inputs of an op. Each is either stacked (with a leading dimension for the
iterations) or the same in every iteration. The rule returns the outputs, marked likewise.
It is called only if at least one input is stacked.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._runtime import _attributes

# pfor's _PforInput and WrappedTensor, which are private: the op with its inputs as
# (tensor, is stacked, is sparse), and an output of that form.
Vectorized: TypeAlias = Any
Output: TypeAlias = Any
Rule: TypeAlias = Callable[[Vectorized], Output | list[Output]]

_NAMES = {op: name for name, op in raw_ops.OPS.items()}


def call(vectorized: Vectorized, *inputs: Any) -> Any:
    """Runs the op on other inputs, with its own attributes."""
    op = vectorized.op
    inferred = _attributes.inferred(op.op_def.input_arg, inputs)
    keywords = {
        name: _attributes.to_python(value)
        for name, value in op.node_def.attr.items()
        if not name.startswith("_") and name not in inferred
    }
    return getattr(raw_ops, _NAMES[op.type])(*inputs, **keywords)


def call_stacked(vectorized: Vectorized) -> list[Output]:
    """Runs the op on its current inputs; all its outputs are stacked."""
    outputs = call(vectorized, *tensors(vectorized))
    return [pfor.wrap(output, True) for output in as_list(outputs)]


def tensors(vectorized: Vectorized) -> list[tf.Tensor]:
    return [tensor for tensor, _, _ in vectorized.inputs]


def as_list(outputs: Any) -> list[tf.Tensor]:
    """The outputs of an op, one tensor or a tuple, as a list."""
    return list(outputs) if isinstance(outputs, tuple | list) else [outputs]


def widen(tensor: tf.Tensor) -> tf.Tensor:
    """The tensor in the type in which an op of its type computes."""
    is_half = tensor.dtype in (tf.float16, tf.bfloat16)
    return tf.cast(tensor, tf.float32) if is_half else tensor


def align(values: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    """A value for each iteration, [B], as [B, 1, ...], to broadcast over `like`."""
    ones = tf.ones([tf.rank(like) - 1], tf.int32)
    return tf.reshape(values, tf.concat([tf.shape(values), ones], axis=0))


def elementwise(vectorized: Vectorized) -> list[Output]:
    """The rule for ops whose inputs and outputs all have one shape."""
    vectorized.stack_inputs()
    return call_stacked(vectorized)


def with_shared(*shared: int, otherwise: Rule) -> Rule:
    """The rule for elementwise or row-wise ops whose inputs at `shared` are common to all
    elements or rows. `otherwise` applies if these differ between iterations."""

    def rule(vectorized: Vectorized) -> Output | list[Output]:
        if any(vectorized.input(index).is_stacked for index in shared):
            return otherwise(vectorized)
        own = [i for i in range(vectorized.num_inputs) if i not in shared]
        vectorized.stack_inputs(own)
        return call_stacked(vectorized)

    return rule


def each_alone(vectorized: Vectorized) -> list[Output]:
    """The rule for ops that map a list of tensors, each output depending on its own input."""
    outputs = call(vectorized, tensors(vectorized))
    return [
        pfor.wrap(output, is_stacked)
        for output, (_, is_stacked, _) in zip(outputs, vectorized.inputs, strict=True)
    ]


def broadcasting(vectorized: Vectorized) -> list[Output]:
    """The rule for broadcasting ops. Ranks may differ, but the stacked dimension must stay
    the leading one."""
    vectorized.expanddim_inputs_for_broadcast()
    return call_stacked(vectorized)


def gradient_of_broadcasting(vectorized: Vectorized) -> list[Output]:
    """The rule for ops of gradients, x and y. The gradients have the broadcast shape of x
    and y, including its leading dimension."""
    x_or_y_stacked = vectorized.input(1).is_stacked or vectorized.input(2).is_stacked
    vectorized.stack_inputs([0] if x_or_y_stacked else [0, 1])
    return broadcasting(vectorized)
