"""A gradient as readable lines: `dx = ReluGrad(dy, x)`."""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, function_pb2, node_def_pb2, tensor_pb2
from tensorflow.python.framework import op_def_registry

from tensorflow_ext._explain import _node
from tensorflow_ext._runtime import _attributes, _plan

# A constant with more elements than this is described, not written out.
_MOST_ELEMENTS = 8


@dataclasses.dataclass(frozen=True)
class Line:
    """One op of a gradient, with readable names.

    `inputs`, `outputs`: one element per argument of the OpDef, a list for an argument
    that is a list. A short constant is written out among the inputs. An output that
    nothing uses is None. `attrs`: the attributes that are neither inferred from inputs
    nor at their default.
    """

    op: str
    inputs: list[str | list[str]]
    outputs: list[str | None]
    attrs: dict[str, str]
    after: list[str]

    def __str__(self) -> str:
        outputs = ", ".join(name or "_" for name in self.outputs)
        arguments = [one if isinstance(one, str) else f"[{', '.join(one)}]" for one in self.inputs]
        arguments += [f"{name}={value}" for name, value in self.attrs.items()]
        text = f"{self.op}({', '.join(arguments)})"
        if outputs:
            text = f"{outputs} = {text}"
        return text + (f"  # after {', '.join(self.after)}" if self.after else "")


@dataclasses.dataclass(frozen=True)
class Readable:
    """A plan with readable names.

    `inputs`, `upstream`, `reused`: names of the tensors that are used, with the op's
    argument. `results`: the gradient of each input, which is the name of a line's output
    or of a tensor that is passed on; None for an input that has no gradient.
    """

    lines: list[Line]
    inputs: list[str]
    upstream: list[str]
    reused: list[str]
    results: dict[str, str | None]

    @property
    def text(self) -> list[str]:
        """The lines, then the tensors that are passed on unchanged."""
        made = {name for line in self.lines for name in line.outputs}
        given = [
            f"{gradient_name(name)} = {result}"
            for name, result in self.results.items()
            if result and (result not in made or result != gradient_name(name))
        ]
        return [str(line) for line in self.lines] + given


def gradient_name(name: str) -> str:
    return f"d{name}"


class _Names:
    """Gives each tensor of a plan a unique name."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._of: dict[str, str] = {}

    def add(self, tensor: str, *wanted: str) -> str:
        """Gives a tensor the first of these names that is free, else a numbered one."""
        numbered = (f"{wanted[-1]}_{i}" for i in range(1, len(self._taken) + 2))
        for name in (*wanted, *numbered):
            if name not in self._taken:
                self._taken.add(name)
                self._of[tensor] = name
                return name
        raise AssertionError(wanted)

    def keep(self, tensor: str, text: str) -> None:
        """Writes a tensor as this text, which is not a name."""
        self._of[tensor] = text

    def __contains__(self, tensor: str) -> bool:
        return tensor in self._of

    def __getitem__(self, tensor: str) -> str:
        return self._of[tensor]


def read(node: node_def_pb2.NodeDef, plan: _plan.Plan) -> Readable:
    """Makes a plan readable.

    Args:
      node: The forward op with all its attributes.
      plan: Its gradient's plan.
    """
    op_def = _node.find_op_def(node.op)
    inputs = _node.argument_names(op_def.input_arg, node)
    outputs = _node.argument_names(op_def.output_arg, node)
    names = _Names()
    for i, name in enumerate(inputs):
        names.add(f"i{i}", name)
    for i, name in enumerate(outputs):
        names.add(f"o{i}", name, f"{name}_out")
        names.add(f"g{i}", gradient_name(name), f"upstream_{name}")
    wanted: dict[str, str] = {}
    for name, result in zip(inputs, plan.results, strict=True):
        if result and result[0] == "s":
            wanted.setdefault(result, name)
    _name_steps(plan, names, wanted)
    used = {name for step in plan.steps for name in step.flat_inputs}
    used |= {name for name in plan.results if name}
    written = [step for step in plan.steps if not _is_short(step)]
    of_step = {id(step): _line(step, plan, names, used) for step in written}

    def of_kind(kind: str, count: int) -> list[str]:
        return [names[f"{kind}{i}"] for i in range(count) if f"{kind}{i}" in used]

    return Readable(
        lines=[of_step[id(step)] for step in written],
        inputs=of_kind("i", len(inputs)),
        upstream=of_kind("g", len(outputs)),
        reused=of_kind("o", len(outputs)),
        results={
            name: names[result] if result else None
            for name, result in zip(inputs, plan.results, strict=True)
        },
    )


def _name_steps(plan: _plan.Plan, names: _Names, wanted: dict[str, str]) -> None:
    """Names the outputs of the steps; the results come first, to get their own names."""
    for tensor, name in wanted.items():
        names.add(tensor, gradient_name(name), f"gradient_{name}")
    for step in plan.steps:
        if _is_short(step):
            names.keep(step.flat_outputs[0], _constant(step.all_attrs["value"]))
            continue
        base = re.sub(r"\W", "_", _snake(step.name.rpartition("/")[2]))
        op_def = _attributes.find_op_def(step.op)
        several = len(op_def.output_arg) > 1
        for argument, group in zip(op_def.output_arg, step.outputs, strict=True):
            name = f"{base}_{argument.name}" if several else base
            for i, tensor in enumerate([group] if isinstance(group, str) else group):
                if tensor not in names:
                    alone = isinstance(group, str)
                    names.add(tensor, name if alone else f"{name}_{i}")


def _line(step: _plan.Step, plan: _plan.Plan, names: _Names, used: Iterable[str]) -> Line:
    def name_of(argument: str | list[str]) -> str | list[str]:
        if isinstance(argument, str):
            return names[argument]
        return [names[tensor] for tensor in argument]

    after = []
    for index in step.control:
        before = plan.steps[index]
        if before.flat_outputs and not set(before.flat_outputs) & set(step.flat_inputs):
            after.append(names[before.flat_outputs[0]])
    outputs = [names[t] if t in used else None for t in step.flat_outputs]
    return Line(
        op=step.op,
        inputs=[name_of(argument) for argument in step.inputs],
        outputs=outputs,
        attrs=_shown_attrs(step.op, step.attrs),
        after=after,
    )


def _shown_attrs(op: str, attrs: dict[str, Any]) -> dict[str, str]:
    defaults = {
        attr.name: _attributes.to_python(attr.default_value)
        for attr in _attributes.find_op_def(op).attr
        if attr.HasField("default_value")
    }
    return {
        name: value_text(value)
        for name, value in attrs.items()
        if name not in defaults or value_text(defaults[name]) != value_text(value)
    }


def attr_text(value: attr_value_pb2.AttrValue) -> str:
    """The value of an attribute; `$T` for one that the op's attribute T gives."""
    if value.WhichOneof("value") == "placeholder":
        return f"${value.placeholder}"
    return value_text(_attributes.to_python(value))


def value_text(value: Any) -> str:
    """A value of an attribute, as source code."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, tf.DType):
        return _node.type_name(value.as_datatype_enum)
    if isinstance(value, tensor_pb2.TensorProto):
        return _constant(value)
    if isinstance(value, bytes):
        return repr(value.decode(errors="backslashreplace"))
    if isinstance(value, float):
        return str(np.float32(value))  # As precise as an attribute is.
    if isinstance(value, attr_value_pb2.NameAttrList):
        return value.name
    return str(value)


def _is_short(step: _plan.Step) -> bool:
    if step.op != "Const" or step.control:
        return False
    shape = step.all_attrs["value"].tensor_shape.dim
    return int(np.prod([dim.size for dim in shape])) <= _MOST_ELEMENTS


def _constant(value: tensor_pb2.TensorProto) -> str:
    array = tf.make_ndarray(value)
    if array.size > _MOST_ELEMENTS:
        kind = _node.type_name(value.dtype)
        return f"<{kind} of shape {list(array.shape)}>"
    if array.dtype == object:
        return value_text(array.tolist())
    if array.dtype.kind not in "biufc":  # bfloat16 and the like.
        array = array.astype(np.float32)

    def text(part: Any) -> str:
        if isinstance(part, np.ndarray):
            return f"[{', '.join(map(text, part))}]" if part.ndim else text(part[()])
        return str(part)

    return text(array)


def _snake(name: str) -> str:
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def definition(function: function_pb2.FunctionDef) -> Iterator[str]:
    """The lines of a definition as its author wrote it."""
    signature = function.signature
    yield "inputs    " + ", ".join(map(_argument, signature.input_arg))
    yield "results   " + ", ".join(map(_argument, signature.output_arg))
    for attr in signature.attr:
        kinds = [_node.type_name(t) for t in attr.allowed_values.list.type]
        allowed = f"{{{', '.join(kinds)}}}" if kinds else attr.type
        yield f"attribute {attr.name}: {allowed}"
    for node in function.node_def:
        yield _definition_node(node)
    for name, tensor in function.ret.items():
        yield f"return {name} = {tensor}"


def _argument(argument: Any) -> str:
    kind = argument.type_attr or argument.type_list_attr or _node.type_name(argument.type)
    if argument.number_attr:
        kind = f"{argument.number_attr} * {kind}"
    return f"{argument.name}: {kind}"


def _definition_node(node: node_def_pb2.NodeDef) -> str:
    arguments = list(node.input)
    op_def = op_def_registry.get(node.op)
    order = [attr.name for attr in op_def.attr] if op_def else sorted(node.attr)
    for name in order:
        if name not in node.attr:
            continue
        arguments.append(f"{name}={attr_text(node.attr[name])}")
    return f"{node.name} = {node.op}({', '.join(arguments)})"
