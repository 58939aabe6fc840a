# SPDX-License-Identifier: Apache-2.0
"""The gradients that are written in C++: which ops have one, and its definition."""

import threading
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import function_pb2, graph_pb2

from tensorflow_ext._runtime import _attributes, _fixing, _library, _registration, _shape_checks

__all__ = [
    "check_definition",
    "check_shapes",
    "fix",
    "function_def",
    "inline_calls",
    "list_ops",
    "mend",
    "register_all",
    "restore",
]

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


def check_definition(op: str, **attrs: Any) -> None:
    """Checks the gradient of an op for all types that the op admits.

    A gradient is checked when it is first asked for, and with the types that the op
    has then. This finds what is wrong for others, such as a constant of type float
    in a definition of T: {float, double}.

    Args:
      op: Name of the op, such as 'TfExt>Relu'.
      **attrs: Attributes that are to have one value, as `function_def` takes them.
        Of the others, types take all that the op allows, or float32, float64,
        complex64 and int32 where it allows all, the rest their defaults.

    Raises:
      tf.errors.NotFoundError: There is no such op, or it has no gradient.
      tf.errors.InvalidArgumentError: An attribute is unknown or wrong, or has no
        default and is to be given.
      tf.errors.FailedPreconditionError: The definition is wrong: the message names
        the types, the node of the definition, and what is wrong.
      tf.errors.UnimplementedError: It refuses all types.
    """
    node = _attributes.to_node_def(op, attrs)
    _library.check_definition(node.SerializeToString())


def check_shapes(check: bool = True) -> bool:
    """The debug switch: whether gradients check their shapes whenever they run.

    A gradient has the shape of its input. A definition that gives it another is an
    error where both shapes are known while a graph is built, and in eager mode when
    an op is differentiated for the first times. With this switch it is one in eager
    mode each time, and in graphs that are built from now on a node checks the shapes
    that are not known beforehand. In the environment TFEXT_CHECK_GRADIENTS=1 switches
    it on, in C TfExt_CheckGradientShapes. May be called from any thread.

    Args:
      check: Whether to check.

    Returns:
      Whether it was on before.
    """
    return _shape_checks.switch(check)


def register_all() -> int:
    """Hands the function gradients of all loaded op libraries to the other
    registries: Python's, and the one that C, C++ and most languages read.

    `import tensorflow_ext` does this once. Call it again after loading another
    op library whose gradients are written with REGISTER_OP_GRADIENT. An op that
    has a gradient in a registry keeps it there, unless a library asked for its own to
    take the place of any other (TFEXT_REGISTER_STAND_IN). Other threads may
    differentiate meanwhile, but not load a library.

    Returns:
      The number of ops that now have a gradient in a registry in which they had
      none.
    """
    known = _library.Registries.CLIENT_GRADIENT | _library.Registries.CLIENT_NO_GRADIENT
    with _lock:
        new = {op for op in list_ops() if not _library.registries(op) & known}
        _library.register_gradients()
        new |= _registration.register()
        _fixing.put_asked_for_in_place()
        return len(new)


def fix(ops: Iterable[str] | None = None) -> list[str]:
    """Puts this library's gradients in the place of TensorFlow's Python gradients.

    Some of these are wrong, fail, or say that there is none where there is one:
    docs/known_differences.md lists them. `import tensorflow_ext` leaves them as they
    are. May be called at any time, from any thread; what was differentiated before,
    and functions that were traced before, keep the gradients that they have.

    All are fixed for tf.gradients and for a tape around the call of a tf.function. A
    tape that sees the op itself keeps no more of it than TensorFlow's own gradient
    takes. Where this library's takes more, TensorFlow's gradient goes on to be used
    there; where TensorFlow says that there is none (HSVToRGB, LinSpace), that is an
    error, which names the op and the fix.

    Args:
      ops: Op types, such as ['Cumprod']. By default all whose gradient in TensorFlow's
        Python is known to be wrong or to fail where this library's is right. Others
        that this library has a gradient of may be named, too.

    Returns:
      The ops whose gradient changed, sorted; those that were fixed before, or whose
      gradient in Python is this library's anyway, are not among them.

    Raises:
      TypeError: `ops` is a string.
      ValueError: There is no such op, or this library has no gradient of it. Then
        nothing has changed.
    """
    return _fixing.fix(ops)


def mend(ops: Iterable[str] | None = None) -> list[str]:
    """The old name of `fix`: the same, with a DeprecationWarning."""
    warnings.warn(
        "tensorflow_ext.gradients.mend() is now called fix()", DeprecationWarning, stacklevel=2
    )
    return fix(ops)


def restore(ops: Iterable[str] | None = None) -> list[str]:
    """Puts TensorFlow's Python gradients back where `fix` took their place.

    Args:
      ops: Op types; all that are fixed by default. Those that are not fixed stay as
        they are.

    Returns:
      The ops whose gradient changed, sorted.

    Raises:
      TypeError, ValueError: As `fix`.
    """
    return _fixing.restore(ops)


def inline_calls(
    outputs: Sequence[tf.Tensor | str], graph: tf.Graph | None = None
) -> list[tf.Tensor]:
    """Adds to a graph what computes `outputs` without calls of functions.

    What lies between a call and `outputs` is copied, with the called function's body
    as plain nodes in the place of the call. Nothing that exists is changed. The same
    for C is TfExt_InlineCalls (gradient/c_api.h), which says what it is good for:
    gradients of `outputs` that run the function once, forward and backward.

    Args:
      outputs: Tensors of one graph, or their names.
      graph: That graph. By default that of the tensors, or else the default graph.

    Returns:
      The tensors that take the place of `outputs`.

    Raises:
      ValueError: A tensor is eager or of another graph, or the graph has none of
        this name.
      tf.errors.NotFoundError: A function is not in the graph.
      tf.errors.UnimplementedError: A function calls itself.
    """
    if any(isinstance(output, tf.__internal__.EagerTensor) for output in outputs):
        raise ValueError("outputs: an eager tensor has no graph; expected graph tensors")
    if graph is None:
        graphs = [output.graph for output in outputs if isinstance(output, tf.Tensor)]
        graph = graphs[0] if graphs else tf.compat.v1.get_default_graph()
    tensors = [graph.as_graph_element(output, allow_operation=False) for output in outputs]
    serialized, names = _library.inline_calls(
        graph.as_graph_def().SerializeToString(), [tensor.name for tensor in tensors]
    )
    nodes = graph_pb2.GraphDef.FromString(serialized)
    own = {node.name for node in nodes.node}
    outside: dict[str, Any] = {}
    for name in {name for node in nodes.node for name in node.input}:
        if name.lstrip("^").partition(":")[0] not in own:
            outside[name] = graph.as_graph_element(name.lstrip("^"))
    with graph.as_default():
        tf.graph_util.import_graph_def(nodes, input_map=outside, name="")
    return [graph.get_tensor_by_name(name) for name in names]
