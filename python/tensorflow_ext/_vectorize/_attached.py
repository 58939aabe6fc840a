"""Vectorizes ops with an attached gradient (_recording.py)."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._override import _recording


def register() -> None:
    """Makes the node after such an op keep its gradient, which TensorFlow would drop."""
    converters = pfor._pfor_converter_registry
    convert_others = converters["IdentityN"]

    def convert(node: Any) -> Any:
        found = _recording.attached_to(node.op)
        return convert_others(node) if found is None else _convert(node, *found)

    converters["IdentityN"] = convert


def _convert(node: Any, attached: _recording.Attached, num_outputs: int) -> Any:
    if any(tensor.t.dtype in (tf.resource, tf.variant) for tensor in node.inputs):
        raise pfor.ConversionNotImplementedError(
            f"{attached.by}: the gradient of {attached.name}, which takes a resource, "
            "cannot be vectorized; use tf.map_fn"
        )
    node.stack_inputs()
    tensors = [tensor.t for tensor in node.inputs]
    outputs, inputs = tensors[:num_outputs], tensors[num_outputs:]
    vectorized = dataclasses.replace(attached, gradient=_Vectorized(attached))
    outputs = vectorized.to(outputs, inputs)
    return [pfor.wrap(tensor, True) for tensor in (*outputs, *inputs)]


class _Vectorized:
    """The attached gradient for all iterations."""

    def __init__(self, attached: _recording.Attached) -> None:
        self._attached = attached
        self.__qualname__ = _recording.name_of(attached.gradient)

    def __call__(self, op: _recording.Operation, *upstream: Any) -> list[Any]:
        has_gradient: list[bool] = []

        def one(arguments: Sequence[Any]) -> list[tf.Tensor]:
            inputs, outputs, given = arguments
            given = iter(given)
            results = self._attached.run(
                inputs,
                outputs,
                [None if gradient is None else next(given) for gradient in upstream],
            )
            has_gradient[:] = [result is not None for result in results]
            return [tf.convert_to_tensor(r) for r in results if r is not None]

        given = [tf.convert_to_tensor(g) for g in upstream if g is not None]
        found = tf.vectorized_map(one, (list(op.inputs), list(op.outputs), given))
        results = iter(found)
        return [next(results) if has else None for has in has_gradient]
