"""Nodes that need more than a call: of old graphs, without a kernel, with another gradient."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf
from rows import call

# A GraphDef version that precedes the removal of the oldest op for batches.
_PRODUCER = 10


def of_version(producer: int, build: Callable[..., Any]) -> Callable[..., Any]:
    """`build` in a graph of this version, which still accepts the op."""

    def built(*inputs: Any, **attributes: Any) -> Any:
        # A graph takes the lowest version of its parts.
        tf.import_graph_def(tf.compat.v1.GraphDef(versions={"producer": producer}))
        return build(*inputs, **attributes)

    return built


def old_op(op: str, **attributes: Any) -> Callable[..., Any]:
    """An op that new graphs may not hold, but that old graphs may still hold."""
    return of_version(_PRODUCER, functools.partial(call, op, **attributes))


def with_gradient(op: str, gradient: str, build: Any = None) -> Callable[..., Any]:
    """`build`, by default only the op, with Python's gradient of `op` that is registered
    as `gradient`.
    """

    def built(*inputs: Any, **attributes: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        with graph.gradient_override_map({op: gradient}):
            return (build or functools.partial(call, op))(*inputs, **attributes)

    return built


def with_formula(op: str, name: str, formula: Callable[..., Any]) -> Callable[..., Any]:
    """The op, with Python's gradient of an equal `formula` of its inputs, which is
    registered as `name`.
    """

    @tf.RegisterGradient(name)
    def gradient(node: tf.Operation, upstream: tf.Tensor) -> list[tf.Tensor | None]:
        inputs = list(node.inputs)
        return tf.gradients(formula(*inputs), inputs, upstream)

    return with_gradient(op, name)


def outputs_are_fed(op: str) -> AbstractContextManager[None]:
    """Nodes of `op` that are added inside get the kernel of fed_kernels.cc."""
    return tf.compat.v1.get_default_graph()._kernel_label_map({op: "fed"})


def fed(op: str, gradient: str | None = None) -> Callable[..., Any]:
    """The op, which has no CPU kernel, as a node "fed" whose outputs a case feeds, with
    Python's gradient that is registered as `gradient`.
    """

    def build(*inputs: Any, **attributes: Any) -> Any:
        with outputs_are_fed(op):
            return call(op, *inputs, **{"name": "fed", **attributes})

    return with_gradient(op, gradient, build) if gradient else build
