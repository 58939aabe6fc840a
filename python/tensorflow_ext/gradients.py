# SPDX-License-Identifier: Apache-2.0
"""The gradients that are written in C++: which ops have one, and its definition."""

import threading
from typing import Any

from tensorflow.core.framework import function_pb2

from tensorflow_ext import _attributes, _library, _registration

__all__ = ["function_def", "list_ops", "register_all"]

_lock = threading.Lock()


def list_ops() -> list[str]:
    """Returns the ops that have a gradient in the function registry, sorted.

    These are the ops registered with REGISTER_OP_GRADIENT: this library's, those
    of other libraries that are loaded, and TensorFlow's own, without those that only
    the function runtime adds, whose names begin with an underscore.
    """
    return _library.list_ops()


def function_def(op: str, **attrs: Any) -> function_pb2.FunctionDef:
    """Returns the gradient of an op as its author wrote it, checked.

    Its arguments are the op's inputs and one upstream gradient for each output,
    its results one gradient for each input.

    Args:
      op: Name of the op, such as 'TfExt>Relu'.
      **attrs: The op's attributes; those with a default may be missing. Types
        as tf.DType or whatever tf.as_dtype takes, shapes as tf.as_shape takes
        them, functions by name, lists as Python lists.

    Raises:
      tf.errors.NotFoundError: There is no such op, or it has no gradient.
      tf.errors.InvalidArgumentError: An attribute is missing, unknown or wrong.
      tf.errors.FailedPreconditionError: The definition does not fit the op.
    """
    node = _attributes.to_node_def(op, attrs)
    serialized = _library.gradient_function_def(node.SerializeToString())
    return function_pb2.FunctionDef.FromString(serialized)


def register_all() -> int:
    """Hands the function gradients of all loaded op libraries to the other
    registries: Python's, and the one that C, C++ and most languages read.

    `import tensorflow_ext` does this once. Call it again after loading another
    op library whose gradients are written with REGISTER_OP_GRADIENT. An op that
    has a gradient in a registry keeps it there. TensorFlow's C++ registry has no
    lock: do not call this while another thread adds gradients through C or C++.

    Returns:
      The number of ops that now have a gradient in a registry in which they had
      none.
    """
    known = _library.Registries.CLIENT_GRADIENT | _library.Registries.CLIENT_NO_GRADIENT
    with _lock:
        new = {op for op in list_ops() if not _library.registries(op) & known}
        _library.register_gradients()
        return len(new | _registration.register())
