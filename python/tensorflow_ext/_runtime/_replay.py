"""Runs a gradient's plan: its nodes one by one, as ordinary TensorFlow ops.

Tapes and graphs see ordinary ops, unlike one opaque call. This gives second order,
forward mode and compilation.

Eagerly, a plan is compiled once into a straight-line Python function that calls the same
functions as TensorFlow's generated wrappers. The first run is interpreted, because
compiling takes longer, and a program that uses tf.function differentiates eagerly at
most once. For graphs see _graph_replay.py.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context, core
from tensorflow.python.framework import ops

from tensorflow_ext._runtime import _eager_op, _graph_replay, _plan, _shape_checks
from tensorflow_ext._runtime._graph_replay import Gradients, Tensors

# Maps the inputs and outputs of the forward op and the upstream gradients (None where
# there is none) to the gradients of the inputs.
Run = Callable[[Tensors, Tensors, Sequence[Any]], Gradients]


class Replay:
    """A plan that can run. `run` is its function, which changes when it is compiled.

    Threads that compile it at the same time each make an equal function.
    """

    def __init__(self, plan: _plan.Plan) -> None:
        self._plan = plan
        self._in_graph = _graph_replay.GraphReplay(plan)
        self._has_run = False
        self._compiles = all(map(_types_are_known, plan.steps))
        self.run: Run = self._run_uncompiled

    def _run_uncompiled(
        self, inputs: Tensors, outputs: Tensors, upstream: Sequence[Any]
    ) -> Gradients:
        if not context.executing_eagerly():
            return self._in_graph(inputs, outputs, upstream)
        if self._has_run and self._compiles:
            self.run = _compile(self._plan, self._in_graph)
            return self.run(inputs, outputs, upstream)
        self._has_run = True
        return _interpret(self._plan, inputs, outputs, upstream)


def _compile(plan: _plan.Plan, in_graph: Run) -> Run:
    """Compiles a plan to a function."""
    writer = _Writer(plan)
    scope = {
        "context_": context.context,
        "run": pywrap_tfe.TFE_Py_FastPathExecute,
        "NotOk": core._NotOkStatusException,
        "Fallback": core._FallbackException,
        "fail": ops.raise_from_not_ok_status,
        "EagerTensor": ops.EagerTensor,
        "interpret": functools.partial(_interpret, plan),
        "executing_eagerly": context.executing_eagerly,
        "in_graph": in_graph,
        "to_tensor": _graph_replay.to_tensor,
        "due": (due := _shape_checks.Due()),
        "check": functools.partial(_check, plan, due),
        **writer.constants,
    }
    exec(_compile_source(writer.source), scope)
    return scope["replay"]


# Plans that differ only in their ops and attributes share one source.
@functools.lru_cache(maxsize=1024)
def _compile_source(source: str) -> Any:
    return compile(source, "<gradient in tensorflow_ext>", "exec")


class _Writer:
    """Writes a plan as the source of a function `replay`."""

    def __init__(self, plan: _plan.Plan) -> None:
        self.constants: dict[str, Any] = {}
        self._plan = plan
        body = []
        for index, step in enumerate(plan.steps):
            body.append(self._call(index, step))
            if released := plan.released[index]:
                body.append(f"del {', '.join(released)}")
        results = "".join(f"{result}, " for result in plan.results)
        self.source = _TEMPLATE.format(
            arguments="\n    ".join(_argument(name) for name in plan.used),
            convert="\n        ".join(_conversion(name) for name in plan.used),
            is_other=" or ".join(
                f"type({name}) is not EagerTensor" for name in plan.used if name[0] == "g"
            )
            or "not executing_eagerly()",
            run=_RUN.format(body="\n        ".join(body)) if body else "",
            results=f"({results})",
        )

    def _call(self, index: int, step: _plan.Step) -> str:
        if step.op == "Const":
            shared = step.flat_outputs[0] not in self._plan.results
            constant = _Constant(step.attrs["value"], shared)
            return f"s{index}_0 = {self._constant(constant)}(ctx)"
        arguments = [self._constant(step.op), "None"]
        for value in step.inputs:
            arguments.append(value if isinstance(value, str) else _pattern(value, "[]"))
        for name, value in step.attrs.items():
            arguments += [self._constant(name), self._constant(value)]
        call = f"run(ctx, {', '.join(arguments)})"
        if not step.outputs:
            return call
        targets = [
            value if isinstance(value, str) else _pattern(value, "()") for value in step.outputs
        ]
        target = targets[0] if len(targets) == 1 else _pattern(targets, "()")
        return f"{target} = {call}"

    def _constant(self, value: object) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name


# Checking whether a tensor is eager is faster than asking the context, and an upstream
# gradient is never eager while a graph is built.
_TEMPLATE = """
def replay(inputs, outputs, upstream):
    {arguments}
    if {is_other}:
        if not executing_eagerly():
            return in_graph(inputs, outputs, upstream)
        {convert}
    {run}
    results = {results}
    if due.runs > 0 or due.always:
        check(inputs, outputs, upstream, results)
    return results
"""

_RUN = """
    ctx = context_()
    try:
        {body}
    except NotOk as error:
        fail(error, None)
    except Fallback:
        return interpret(inputs, outputs, upstream)
"""


def _argument(name: str) -> str:
    source = {"i": "inputs", "o": "outputs", "g": "upstream"}[name[0]]
    return f"{name} = {source}[{name[1:]}]"


def _conversion(name: str) -> str:
    """The source that makes a tensor of a sparse or missing upstream gradient."""
    if name[0] != "g":
        return ""
    return f"{name} = to_tensor({name}, outputs, {name[1:]})"


def _pattern(names: list[str], brackets: str) -> str:
    comma = "," if len(names) == 1 else ""
    return brackets[0] + ", ".join(names) + comma + brackets[1]


class _Constant:
    """A constant that is made once for each device.

    A constant that is itself a result is made each time: a tape cannot distinguish two
    gradients that are the same tensor.
    """

    def __init__(self, value: tensor_pb2.TensorProto, shared: bool) -> None:
        self._value = tf.make_ndarray(value)
        self._dtype = tf.as_dtype(value.dtype)
        self._shared = shared
        self._tensors: dict[tuple[context.Context, str], tf.Tensor] = {}

    def __call__(self, ctx: context.Context) -> tf.Tensor:
        if not self._shared:
            return tf.constant(self._value, self._dtype)
        # The context is part of the key because a new one has new devices.
        key = ctx, ctx.device_name
        tensor = self._tensors.get(key)
        if tensor is None:
            tensor = tf.constant(self._value, self._dtype)
            self._tensors[key] = tensor
        return tensor


def _check(
    plan: _plan.Plan,
    due: _shape_checks.Due,
    inputs: Tensors,
    outputs: Tensors,
    upstream: Sequence[Any],
    results: Gradients,
) -> None:
    """Checks the shapes of eager gradients."""
    due.runs -= 1
    _shape_checks.check(plan, inputs, outputs, upstream, results)


def _interpret(
    plan: _plan.Plan, inputs: Tensors, outputs: Tensors, upstream: Sequence[Any]
) -> Gradients:
    """Runs a plan eagerly, step by step."""
    tensors: dict[str, tf.Tensor] = {}
    for name in plan.used:
        index = int(name[1:])
        if name[0] == "g":
            tensors[name] = _graph_replay.to_tensor(upstream[index], outputs, index)
        else:
            tensors[name] = (inputs if name[0] == "i" else outputs)[index]
    ctx = context.context()
    for step, released in zip(plan.steps, plan.released, strict=True):
        results = _run(ctx, step, tensors)
        tensors.update(zip(step.flat_outputs, results, strict=True))
        del results
        for name in released:
            del tensors[name]
    gradients = tuple(None if name is None else tensors[name] for name in plan.results)
    _shape_checks.check(plan, inputs, outputs, upstream, gradients)
    return gradients


def _run(ctx: context.Context, step: _plan.Step, tensors: dict[str, tf.Tensor]) -> list[tf.Tensor]:
    """Runs one step; returns its outputs, lists flattened."""
    if step.op == "Const":
        return [tf.constant(tf.make_ndarray(step.attrs["value"]))]
    if _types_are_known(step):
        arguments = [*step.arguments(tensors), *_graph_replay.flat(step.attrs)]
        try:
            results = pywrap_tfe.TFE_Py_FastPathExecute(ctx, step.op, None, *arguments)
            return tf.nest.flatten(results) if step.outputs else []
        except core._NotOkStatusException as error:
            ops.raise_from_not_ok_status(error, None)
        except core._FallbackException:
            pass
    return _eager_op.run(
        step.op,
        [tensors[name] for name in step.flat_inputs],
        _graph_replay.flat(step.all_attrs),
        len(step.flat_outputs),
    )


def _types_are_known(step: _plan.Step) -> bool:
    """True if the fast path can infer all types from the inputs."""
    return [] not in step.inputs
