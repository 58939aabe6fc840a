# SPDX-License-Identifier: Apache-2.0
"""Runs a gradient's plan: its nodes one by one, as ordinary TensorFlow ops.

Ordinary ops, not one opaque call, so that tapes and graphs see them: that is
what gives second order, forward mode and compilation.

Eagerly a plan is compiled, once, into a straight-line Python function that calls
what TensorFlow's generated wrappers call. In a graph it is interpreted through
the builder that those wrappers use.
"""

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context, core, execute
from tensorflow.python.framework import op_def_library, ops

from tensorflow_ext import _library, _plan, _shape_checks

Tensors = Sequence[tf.Tensor]
Gradients = tuple[tf.Tensor | None, ...]
# Inputs and outputs of the forward op and the upstream gradients (None where
# there is none) to the gradients of the inputs.
Replay = Callable[[Tensors, Tensors, Sequence[Any]], Gradients]


def compile_plan(plan: _plan.Plan) -> Replay:
    """Makes a plan a function."""
    interpret = functools.partial(_interpret, plan)
    if any([] in step.inputs for step in plan.steps):
        return interpret  # the fast path infers all types from the inputs
    writer = _Writer(plan)
    scope = {
        "context_": context.context,
        "run": pywrap_tfe.TFE_Py_FastPathExecute,
        "NotOk": core._NotOkStatusException,
        "Fallback": core._FallbackException,
        "fail": ops.raise_from_not_ok_status,
        "EagerTensor": ops.EagerTensor,
        "to_tensor": _to_tensor,
        "interpret": interpret,
        "first": (first := [True] * _shape_checks.FIRST),
        "always": _shape_checks.ALWAYS,
        "check": functools.partial(_check, plan, first),
        **writer.constants,
    }
    exec(_compile_source(writer.source, f"<gradient of {plan.op}>"), scope)
    return scope["replay"]


# Plans that differ only in their attributes share one source.
@functools.lru_cache(maxsize=1024)
def _compile_source(source: str, name: str) -> Any:
    return compile(source, name, "exec")


class _Writer:
    """Writes a plan as the source of a function `replay`."""

    def __init__(self, plan: _plan.Plan) -> None:
        self.constants: dict[str, Any] = {}
        self._plan = plan
        self._last_use = {
            name: index
            for index, step in enumerate(plan.steps)
            for name in step.flat_outputs + step.flat_inputs
        }
        self._last_use.update({name: len(plan.steps) for name in plan.results if name})
        body = [self._argument(name) for name in plan.used]
        for index, step in enumerate(plan.steps):
            body.append(self._call(index, step))
            body += self._release(index, step)
        results = "".join(f"{result}, " for result in plan.results)
        body.append(f"results = ({results})")
        self.source = _TEMPLATE.format(body="\n        ".join(body))

    def _argument(self, name: str) -> str:
        kind, index = name[0], name[1:]
        if kind == "g":
            return (
                f"{name} = upstream[{index}]\n"
                f"        if type({name}) is not EagerTensor: "
                f"{name} = to_tensor({name}, outputs, {index})"
            )
        return f"{name} = {'inputs' if kind == 'i' else 'outputs'}[{index}]"

    def _call(self, index: int, step: _plan.Step) -> str:
        if step.op == "Const":
            shared = step.flat_outputs[0] not in self._plan.results
            constant = _Constant(step.attrs["value"], shared)
            return f"s{index}_0 = {self._constant(constant)}(ctx)"
        arguments = [repr(step.op), "None"]
        for value in step.inputs:
            arguments.append(value if isinstance(value, str) else _pattern(value, "[]"))
        for name, value in step.attrs.items():
            arguments += [repr(name), self._constant(value)]
        call = f"run(ctx, {', '.join(arguments)})"
        if not step.outputs:
            return call
        targets = [
            value if isinstance(value, str) else _pattern(value, "()")
            for value in step.outputs
        ]
        target = targets[0] if len(targets) == 1 else _pattern(targets, "()")
        return f"{target} = {call}"

    def _constant(self, value: object) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def _release(self, index: int, step: _plan.Step) -> list[str]:
        """Frees what no later step reads, as a nested expression would."""
        dead = {
            name
            for name in step.flat_inputs + step.flat_outputs
            if name[0] == "s" and self._last_use[name] == index
        }
        return [f"del {', '.join(sorted(dead))}"] if dead else []


_TEMPLATE = """
def replay(inputs, outputs, upstream):
    ctx = context_()
    if not ctx._thread_local_data.is_eager:
        return interpret(inputs, outputs, upstream)
    try:
        {body}
    except NotOk as error:
        fail(error, None)
    except Fallback:
        return interpret(inputs, outputs, upstream)
    if first or always:
        check(inputs, outputs, upstream, results)
    return results
"""


def _pattern(names: list[str], brackets: str) -> str:
    comma = "," if len(names) == 1 else ""
    return brackets[0] + ", ".join(names) + comma + brackets[1]


class _Constant:
    """A constant that is made once for each device.

    Unless it is a result itself: two gradients must not be one tensor, which a
    tape could not tell apart.
    """

    def __init__(self, value: tensor_pb2.TensorProto, shared: bool) -> None:
        self._value = tf.make_ndarray(value)
        self._dtype = tf.as_dtype(value.dtype)
        self._shared = shared
        self._tensors: dict[tuple[context.Context, str], tf.Tensor] = {}

    def __call__(self, ctx: context.Context) -> tf.Tensor:
        if not self._shared:
            return tf.constant(self._value, self._dtype)
        # The context is part of the key: a new one has new devices.
        key = ctx, ctx.device_name
        tensor = self._tensors.get(key)
        if tensor is None:
            tensor = tf.constant(self._value, self._dtype)
            self._tensors[key] = tensor
        return tensor


def _check(
    plan: _plan.Plan,
    first: list[bool],
    inputs: Tensors,
    outputs: Tensors,
    upstream: Sequence[Any],
    results: Gradients,
) -> None:
    """Checks the shapes of eager gradients; `first` has one for each time to come."""
    with contextlib.suppress(IndexError):  # another thread took the last one
        first.pop()
    _shape_checks.check(plan, inputs, outputs, upstream, results)


def _to_tensor(gradient: object, outputs: Tensors, index: int) -> tf.Tensor:
    """An upstream gradient as a tensor: zeros where there is none."""
    if gradient is None:
        return tf.zeros_like(outputs[index])
    return tf.convert_to_tensor(gradient)


def _interpret(
    plan: _plan.Plan, inputs: Tensors, outputs: Tensors, upstream: Sequence[Any]
) -> Gradients:
    """Runs a plan step by step, eagerly or into the current graph."""
    tensors: dict[str, tf.Tensor] = {}
    for name in plan.used:
        index = int(name[1:])
        if name[0] == "g":
            tensors[name] = _to_tensor(upstream[index], outputs, index)
        else:
            tensors[name] = (inputs if name[0] == "i" else outputs)[index]
    operations: list[tf.Operation | None] = []
    for step in plan.steps:
        arguments = [
            tensors[value] if isinstance(value, str) else [tensors[n] for n in value]
            for value in step.inputs
        ]
        if context.executing_eagerly():
            results = _run_eagerly(step, [tensors[name] for name in step.flat_inputs])
            operations.append(None)
        else:
            before = [operations[index] for index in step.control]
            with tf.control_dependencies(before) if before else _NOTHING:
                operation, results = _add_to_graph(step, arguments)
            operations.append(operation)
        tensors.update(zip(step.flat_outputs, results, strict=True))
    gradients = tuple(None if name is None else tensors[name] for name in plan.results)
    _shape_checks.check(plan, inputs, outputs, upstream, gradients)
    if not context.executing_eagerly() and _library.check_gradient_shapes():
        gradients = _shape_checks.checked_in_graph(plan, inputs, gradients)
    return gradients


_NOTHING = contextlib.nullcontext()


def _run_eagerly(step: _plan.Step, inputs: list[tf.Tensor]) -> list[tf.Tensor]:
    if step.op == "Const":
        return [tf.constant(tf.make_ndarray(step.attrs["value"]))]
    attrs = _flat(step.all_attrs)
    inputs = [tf.convert_to_tensor(tensor) for tensor in inputs]
    results = execute.execute(
        step.op.encode(),
        len(step.flat_outputs),
        inputs=inputs,
        attrs=attrs,
        ctx=context.context(),
    )
    if execute.must_record_gradient():
        execute.record_gradient(step.op, inputs, attrs, results)
    return results


def _add_to_graph(
    step: _plan.Step, arguments: list[tf.Tensor | list[tf.Tensor]]
) -> tuple[tf.Operation, list[tf.Tensor]]:
    keywords = dict(zip(step.input_names, arguments, strict=True))
    _, _, operation, results = op_def_library._apply_op_helper(
        step.op, name=step.name, **keywords, **step.attrs
    )
    if execute.must_record_gradient():
        attrs = {name: operation.get_attr(name) for name in step.all_attrs}
        execute.record_gradient(step.op, operation.inputs, _flat(attrs), results)
    return operation, results


def _flat(attrs: dict[str, Any]) -> tuple[Any, ...]:
    """Names and values alternating, as the tape keeps them."""
    return tuple(element for pair in attrs.items() for element in pair)
