"""Hooks of override_gradient: the functions of TensorFlow that run, record or
differentiate an op.

Each context (a thread, or an asyncio task) has its own replacements. TensorFlow's
functions are wrapped only while there is a block in any thread.

TensorFlow's Graph.gradient_override_map is not enough: it marks nodes of one graph, and
only tf.gradients of that graph reads the marks. A tape finds a gradient by the op's type
alone and keeps only what that gradient needs, and a function is another graph.
"""

import functools
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tensorflow.python import pywrap_tfe
from tensorflow.python.distribute import mirrored_run
from tensorflow.python.eager import backprop, core, execute, imperative_grad
from tensorflow.python.eager.polymorphic_function import function_context
from tensorflow.python.framework import op_def_library, ops
from tensorflow.python.ops import gradients_util

from tensorflow_ext._override import _recording
from tensorflow_ext._override._frames import NOTHING, current, without


def _fast_path(original: Callable[..., Any]) -> Callable[..., Any]:
    """Sends a replaced op to the slow path, on which Python records its gradient."""
    fallback = core._FallbackException
    must_record = execute.must_record_gradient

    def run(ctx: Any, op_type: str, *rest: Any) -> Any:
        if op_type in current.get().attach and must_record():
            raise fallback("override_gradient")
        return original(ctx, op_type, *rest)

    return run


def _record_gradient(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(op_type: str, inputs: Any, attrs: Any, outputs: Any) -> Any:
        attach = current.get().attach.get(op_type)
        if attach is None or not outputs:
            return original(op_type, inputs, attrs, outputs)
        if isinstance(outputs[0], ops.EagerTensor):
            attach(tuple(attrs or ()), outputs, inputs)
        elif _recording.attached_to(outputs[0].op) is None:
            original(op_type, inputs, attrs, outputs)
        return None

    return run


def _apply_op(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the node that has the gradient after a replaced op of a graph."""

    @functools.wraps(original)
    def run(op_type: str, name: str | None = None, **keywords: Any) -> Any:
        structure, stateful, op, outputs = original(op_type, name, **keywords)
        attach = current.get().attach.get(op_type)
        if attach is not None:
            attrs: list[Any] = []
            for attr in op.op_def.attr:
                attrs += [attr.name, op.get_attr(attr.name)]
            outputs = attach(tuple(attrs), outputs, op.inputs)
        return structure, stateful, op, outputs

    return run


def _function_context(original: Callable[..., Any]) -> Callable[..., Any]:
    """Makes tf.function trace separately for each set of replacements."""

    @functools.wraps(original)
    def run(scope_type: Any = None) -> Any:
        made = original(scope_type)
        frame = current.get()
        if not frame.attach:
            return made
        return made._replace(context=(made.context, frame.key))

    return run


def _saves_frame(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(replica: Any) -> None:
        original(replica)
        replica._override_gradient_frame = current.get()

    return run


def _restores_frame(original: Callable[..., Any]) -> Callable[..., Any]:
    """Restores the frame in a tf.distribute replica, which runs in its own thread."""

    def run(replica: Any) -> None:
        original(replica)
        current.set(getattr(replica, "_override_gradient_frame", NOTHING))

    return run


_Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]
_REPLICA = mirrored_run._MirroredReplicaThread

_WRAPPED: list[tuple[ModuleType | type, str, _Wrapper]] = [
    (pywrap_tfe, "TFE_Py_FastPathExecute", _fast_path),
    (execute, "record_gradient", _record_gradient),
    (op_def_library, "_apply_op_helper", _apply_op),
    (function_context, "make_function_context", _function_context),
    (imperative_grad, "imperative_grad", without),
    (gradients_util, "_GradientsHelper", without),
    (backprop, "_gradient_function", without),
    (_REPLICA, "record_thread_local_eager_context_state", _saves_frame),
    (_REPLICA, "restore_thread_local_eager_context_state", _restores_frame),
]

_lock = threading.Lock()
_blocks = 0
# The functions that are wrapped now: owner, name, original and wrapper.
_installed: list[tuple[ModuleType | type, str, Any, Any]] = []


def install() -> None:
    """Counts a new block; the first one wraps the functions."""
    global _blocks
    with _lock:
        _blocks += 1
        if _blocks > 1:
            return
        for place, name, wrapper in _WRAPPED:
            original = getattr(place, name)
            wrapped = wrapper(original)
            setattr(place, name, wrapped)
            _installed.append((place, name, original, wrapped))


def uninstall() -> None:
    """Counts the end of a block; the last one restores the functions."""
    global _blocks
    with _lock:
        _blocks -= 1
        if _blocks:
            return
        while _installed:
            place, name, original, wrapped = _installed.pop()
            # If someone else has wrapped the function since, keep their wrapper.
            if getattr(place, name) is wrapped:
                setattr(place, name, original)
