"""Gives Python the gradients that the function registry holds.

Each op gets an ordinary Python gradient, as by tf.RegisterGradient, that replays the
C++ definition. Its plan is made once for each combination of attributes and wanted
inputs; after that the gradient costs a dictionary lookup and its ops.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import node_def_pb2

# This module registers gradients when it is imported, but TensorFlow does not import it.
from tensorflow.python.ops import map_ops  # noqa: F401

from tensorflow_ext._runtime import (
    _attributes,
    _library,
    _plan,
    _python_registry,
    _replay,
    _wrappers,
)

# A table of plans is emptied at this size. An attribute may have a new value in every
# training step, and such plans are never used again.
_MAX_PLANS = 1024

# TensorFlow's public ops, which exist before any library is loaded.
_TENSORFLOW = frozenset(dir(tf.raw_ops))

_lock = threading.Lock()


def register() -> set[str]:
    """Registers a Python gradient for every op that has a function gradient and
    no Python gradient; returns those ops.

    It also declares ops of libraries to have no gradient if the function registry does.
    It does not do so for TensorFlow's ops, where this often means that nobody has
    written a gradient.
    """
    with _lock:
        alone = _library.Registries.FUNCTION_RUNTIME_ALONE
        new = {
            op
            for op in _library.list_ops()
            if not _python_registry.has_gradient(op) and alone not in _library.registries(op)
        }
        for op in new:
            _python_registry.add(op, make_gradient(op))
        for op in _ops_of_libraries():
            says_none = _library.Registries.FUNCTION_NO_GRADIENT in _library.registries(op)
            if says_none and not _python_registry.has_gradient(op):
                _python_registry.add(op, None)
        return new


def _ops_of_libraries() -> list[str]:
    """The ops that are not TensorFlow's, and a few internal ops of TensorFlow."""
    names = (op_def.name for op_def in _wrappers.op_defs())
    return [name for name in names if name[0] != "_" and name not in _TENSORFLOW]


def make_gradient(op_type: str) -> Callable[..., _replay.Gradients]:
    """Returns the Python gradient of an op type.

    It takes a tf.Operation, or the stand-in that a tape makes, and an upstream gradient
    for each output.
    """
    by_attrs: dict[Any, _replay.Replay] = {}
    by_node: dict[Any, _replay.Replay] = {}

    def gradient(op: Any, *upstream: Any) -> _replay.Gradients:
        try:
            # A tape's stand-in has its attributes as a tuple of names and values.
            replay = by_attrs[op.attrs, op.skip_input_indices]
        except (AttributeError, KeyError, TypeError):
            replay = _find(op, op_type, by_attrs, by_node)
        return replay.run(op.inputs, op.outputs, upstream)

    gradient.__name__ = gradient.__qualname__ = f"gradient_of_{op_type}"
    return gradient


def _find(
    op: Any, op_type: str, by_attrs: dict[Any, _replay.Replay], by_node: dict[Any, _replay.Replay]
) -> _replay.Replay:
    """The plan for the op's attributes and wanted inputs; makes it if there is none.

    Threads that need the same plan at the same time each make an equal one.
    """
    skip = getattr(op, "skip_input_indices", None)
    node = _node_def(op, op_type)
    key = node.SerializeToString(deterministic=True), skip
    replay = by_node.get(key)
    if replay is None:
        replay = _replay.Replay(_plan_of_node(node, skip))
        insert(by_node, key, replay)
    if not isinstance(op, tf.Operation) and is_hashable(op.attrs):
        insert(by_attrs, (op.attrs, skip), replay)
    return replay


def plan_of(op: Any, op_type: str) -> _plan.Plan:
    """The plan for the op's attributes and wanted inputs."""
    skip = getattr(op, "skip_input_indices", None)
    return _plan_of_node(_node_def(op, op_type), skip)


def _plan_of_node(node: node_def_pb2.NodeDef, skip: Sequence[int] | None) -> _plan.Plan:
    wanted = None
    if skip:
        wanted = [i not in skip for i in range(_attributes.num_inputs(node))]
    return _plan.find(node, wanted)


def _node_def(op: Any, op_type: str) -> node_def_pb2.NodeDef:
    if isinstance(op, tf.Operation):
        return _attributes.to_node_def(op_type, op.node_def.attr)
    flat = op.attrs or ()  # None for an op without attributes
    # A wrapper passes None to request the default.
    attrs = zip(flat[::2], flat[1::2], strict=True)
    return _attributes.to_node_def(
        op_type, {name: value for name, value in attrs if value is not None}
    )


def insert(table: dict[Any, Any], key: object, value: object) -> None:
    """Puts a value into a table that is keyed by op attributes."""
    if len(table) >= _MAX_PLANS:
        table.clear()
    table[key] = value


def is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
