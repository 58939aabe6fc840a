"""Python functions of the ops, as TensorFlow generates them for any library."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from addons_cases import Case
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.framework import op_def_registry

from tensorflow_ext import addons
from tensorflow_ext._runtime import _wrappers

_MODULE = _wrappers.generate(
    [op_def_registry.get(op) for op in addons.OPS], f"{__name__}.generated"
)
_FUNCTIONS = {name.replace("_", ""): function for name, function in vars(_MODULE).items()}


def function_of(op: str) -> Callable[..., Any]:
    return _FUNCTIONS[op.replace(">", "").lower()]


def op_def(op: str) -> op_def_pb2.OpDef:
    return op_def_registry.get(op)


def call(case: Case, inputs: Sequence[Any]) -> list[tf.Tensor]:
    """The outputs of the case's op for these inputs."""
    found = function_of(case.op)(*inputs, **case.attributes)
    return [*found] if isinstance(found, tuple) else [found]
