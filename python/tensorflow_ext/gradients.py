"""The gradients that are written in C++: the ops that have one, and its definition."""

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

    These are the ops registered with REGISTER_OP_GRADIENT by this library, by other
    loaded libraries and by TensorFlow. Ops that only the function runtime adds, whose
    names begin with an underscore, are not listed.
    """
    return _library.list_ops()


def function_def(op: str, **attrs: Any) -> function_pb2.FunctionDef:
    """Returns the gradient of an op as its author wrote it, checked.

    Its arguments are the op's inputs and one upstream gradient for each output. Its
    results are one gradient for each input.

    Args:
      op: Name of the op, such as 'TfExt>Relu'.
      **attrs: The op's attributes; those with a default may be missing. Give types as
        tf.DType or anything that tf.as_dtype takes, shapes as anything that tf.as_shape
        takes, functions by name, and lists as Python lists.

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

    Normally a gradient is checked when it is first requested, and only for the types
    that the op has then. This function finds errors for other types, such as a constant
    of type float in a definition of T: {float, double}.

    Args:
      op: Name of the op, such as 'TfExt>Relu'.
      **attrs: Attributes to fix to one value, as `function_def` takes them. Other type
        attributes take every type that the op allows, or float32, float64, complex64
        and int32 if it allows all types. Other attributes take their defaults.

    Raises:
      tf.errors.NotFoundError: There is no such op, or it has no gradient.
      tf.errors.InvalidArgumentError: An attribute is unknown or wrong, or it is missing
        and has no default.
      tf.errors.FailedPreconditionError: The definition is wrong. The message names the
        types, the node of the definition, and the error.
      tf.errors.UnimplementedError: The definition refuses all types.
    """
    node = _attributes.to_node_def(op, attrs)
    _library.check_definition(node.SerializeToString())


def check_shapes(check: bool = True) -> bool:
    """Switches checks of gradients' shapes at every run on or off, for debugging.

    A gradient must have the shape of its input. Without this switch, a definition that
    gives another shape is an error where both shapes are known while a graph is built,
    and in eager mode the first few times an op is differentiated. With it, eager mode
    checks every time, and graphs that are built from now on get nodes that check the
    shapes that are unknown beforehand. TFEXT_CHECK_GRADIENTS=1 in the environment, or
    TfExt_CheckGradientShapes in C, switches it on too. You may call this function from
    any thread.

    Args:
      check: Whether to check.

    Returns:
      Whether the switch was on before.
    """
    return _shape_checks.switch(check)


def register_all() -> int:
    """Copies the function gradients of all loaded op libraries to the other
    registries: Python's, and the one that C, C++ and most languages read.

    `import tensorflow_ext` does this once. Call it again after loading another
    op library whose gradients are written with REGISTER_OP_GRADIENT. An op that
    already has a gradient in a registry keeps it there, unless a library asked to
    replace it (TFEXT_REGISTER_STAND_IN). In Python, your own gradient wins whichever
    comes first: tf.RegisterGradient and tf.no_gradient of an op that has this function's
    gradient replace it. Meanwhile other threads may differentiate, but must not load a
    library.

    Returns:
      The number of ops that have a new gradient in at least one registry.
    """
    known = _library.Registries.CLIENT_GRADIENT | _library.Registries.CLIENT_NO_GRADIENT
    with _lock:
        new = {op for op in list_ops() if not _library.registries(op) & known}
        _library.register_gradients()
        new |= _registration.register()
        _fixing.put_asked_for_in_place()
        return len(new)


def fix(ops: Iterable[str] | None = None) -> list[str]:
    """Replaces TensorFlow's Python gradients by this library's.

    Some of TensorFlow's gradients are wrong, fail, or are declared missing although they
    exist: docs/known_differences.md lists them. `import tensorflow_ext` does not change
    them. You may call this function at any time, from any thread. Results that were
    differentiated before, and functions that were traced before, keep their gradients.

    The fix always applies to tf.gradients and to a tape around the call of a
    tf.function. A tape that records the op itself keeps only the tensors that
    TensorFlow's own gradient needs. If this library's gradient needs more, TensorFlow's
    gradient is used there. If TensorFlow declares that there is none (HSVToRGB,
    LinSpace), this is an error that names the op and the fix.

    Args:
      ops: Op types, such as ['Cumprod']. By default all ops whose gradient in
        TensorFlow's Python is known to be wrong or to fail where this library's is
        right, except those with a gradient that you registered. You may also name
        these, and other ops that have a gradient in this library.

    Returns:
      The ops whose gradient changed, sorted. Ops that were fixed before, or whose
      gradient in Python is this library's anyway, are not included.

    Raises:
      TypeError: `ops` is a string.
      ValueError: There is no such op, or this library has no gradient for it. Nothing
        has changed then.
    """
    return _fixing.fix(ops)


def mend(ops: Iterable[str] | None = None) -> list[str]:
    """The old name of `fix`; emits a DeprecationWarning."""
    warnings.warn(
        "tensorflow_ext.gradients.mend() is now called fix()", DeprecationWarning, stacklevel=2
    )
    return fix(ops)


def restore(ops: Iterable[str] | None = None) -> list[str]:
    """Restores TensorFlow's Python gradients that `fix` replaced.

    Args:
      ops: Op types; by default all that are fixed. Ops that are not fixed stay
        unchanged.

    Returns:
      The ops whose gradient changed, sorted.

    Raises:
      TypeError, ValueError: As `fix`.
    """
    return _fixing.restore(ops)


def inline_calls(
    outputs: Sequence[tf.Tensor | str], graph: tf.Graph | None = None
) -> list[tf.Tensor]:
    """Adds nodes to a graph that compute `outputs` without function calls.

    It copies the nodes between a call and `outputs`, and replaces the call by the plain
    nodes of the function's body. Existing nodes do not change. Gradients of the new
    tensors run the function only once, forward and backward. The equivalent in C is
    TfExt_InlineCalls (gradient/c_api.h), whose documentation says more.

    Args:
      outputs: Tensors of one graph, or their names.
      graph: That graph. Defaults to the graph of the tensors, or else to the default
        graph.

    Returns:
      The tensors that replace `outputs`.

    Raises:
      ValueError: A tensor is eager or of another graph, or the graph has no tensor of
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
