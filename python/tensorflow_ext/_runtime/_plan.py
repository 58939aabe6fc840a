"""A gradient's plan (TfExt_GradientPlan in gradient/c_api.h) as Python objects.

Every tensor of a plan has a name that is a Python identifier: `i0` is input 0 of
the forward op, `g0` the upstream gradient of its output 0, `o0` that output,
`s2_1` output 1 of step 2.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from tensorflow.core.framework import attr_value_pb2, graph_pb2, node_def_pb2

from tensorflow_ext._runtime import _attributes, _library

# Ops whose outputs are their inputs. Definitions use them to name tensors; running them
# would change nothing.
_PASS_THROUGH = ("Identity", "IdentityN")


@dataclasses.dataclass(frozen=True)
class Step:
    """One op to run."""

    op: str
    name: str
    # One entry per argument of the OpDef: a tensor, or the tensors of a list.
    inputs: list[str | list[str]]
    outputs: list[str | list[str]]
    # The attributes that cannot be inferred from the inputs.
    attrs: dict[str, Any]
    # Steps that must run first.
    control: list[int]
    node: node_def_pb2.NodeDef

    @functools.cached_property
    def attr_values(self) -> dict[str, attr_value_pb2.AttrValue]:
        """All attributes, as AttrValues."""
        attr = self.node.attr
        names = _attributes.signature(self.op).attrs
        return {name: attr[name] for name in names if name in attr}

    @functools.cached_property
    def all_attrs(self) -> dict[str, Any]:
        """All attributes, as Python values."""
        return {k: _attributes.to_python(v) for k, v in self.attr_values.items()}

    @functools.cached_property
    def flat_inputs(self) -> list[str]:
        return flatten(self.inputs)

    @functools.cached_property
    def flat_outputs(self) -> list[str]:
        return flatten(self.outputs)

    def arguments(self, tensors: Mapping[str, Any]) -> list[Any]:
        """The arguments of the OpDef, each a tensor or a list of tensors, looked up by name."""
        return [
            tensors[value] if isinstance(value, str) else [tensors[n] for n in value]
            for value in self.inputs
        ]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The steps that compute the gradient of an op with given attributes."""

    op: str
    steps: list[Step]
    # For each input of the op, the tensor that is its gradient, or None.
    results: list[str | None]
    # The argument of the OpDef that each input belongs to.
    input_names: list[str]

    @functools.cached_property
    def used(self) -> list[str]:
        """The inputs, upstream gradients and outputs that are used, sorted."""
        names = {name for step in self.steps for name in step.flat_inputs}
        names.update(name for name in self.results if name)
        return sorted(name for name in names if name[0] in "igo")

    @functools.cached_property
    def released(self) -> list[list[str]]:
        """For each step, the outputs of steps that nothing reads after it, sorted.

        Freeing them then matches a nested expression.
        """
        names = {name for name in self.results if name}
        released = []
        for step in reversed(self.steps):
            mine = {*step.flat_inputs, *step.flat_outputs} - names
            released.append(sorted(name for name in mine if name[0] == "s"))
            names |= mine
        return released[::-1]


def flatten(arguments: list[str | list[str]]) -> list[str]:
    """The tensors of some arguments, flattened."""
    return [
        name
        for argument in arguments
        for name in ([argument] if isinstance(argument, str) else argument)
    ]


def find(node: node_def_pb2.NodeDef, wanted: list[bool] | None) -> Plan:
    """Plans the gradient of an op.

    Args:
      node: The op and its attributes.
      wanted: For each input whether its gradient is wanted; None means all.

    Raises:
      tf.errors.OpError: See gradient/c_api.h.
    """
    serialized = _library.gradient_plan(node.SerializeToString(), wanted)
    forward = _attributes.signature(node.op)
    sizes = _attributes.argument_sizes(forward.inputs, node)
    names = [
        argument.name
        for argument, size in zip(forward.inputs, sizes, strict=True)
        for _ in range(1 if size is None else size)
    ]
    outputs = _attributes.argument_sizes(forward.outputs, node)
    num_outputs = sum(1 if size is None else size for size in outputs)
    return _Parser(node.op, names, num_outputs).parse(graph_pb2.GraphDef.FromString(serialized))


class _Parser:
    """Names the tensors of a GraphDef."""

    def __init__(self, op: str, input_names: list[str], num_outputs: int) -> None:
        self._plan = Plan(op, [], [None] * len(input_names), input_names)
        self._num_inputs = len(input_names)
        self._num_outputs = num_outputs
        self._args: dict[str, str] = {}
        self._aliases: dict[str, list[str]] = {}
        self._steps: dict[str, int] = {}

    def parse(self, graph: graph_pb2.GraphDef) -> Plan:
        for node in graph.node:
            if node.op == "_Arg":
                self._args[node.name] = self._arg(node.attr["index"].i)
            elif node.op == "_Retval":
                self._plan.results[node.attr["index"].i] = self._tensor(node.input[0])
            elif node.op in _PASS_THROUGH and not any(i[0] == "^" for i in node.input):
                self._aliases[node.name] = [self._tensor(i) for i in node.input]
            else:
                self._add_step(node)
        return self._plan

    def _arg(self, index: int) -> str:
        if index < self._num_inputs:
            return f"i{index}"
        index -= self._num_inputs
        if index < self._num_outputs:
            return f"g{index}"
        return f"o{index - self._num_outputs}"

    def _tensor(self, name: str) -> str:
        node, _, output = name.partition(":")
        if node in self._args:
            return self._args[node]
        if node in self._aliases:
            return self._aliases[node][int(output or 0)]
        return f"s{self._steps[node]}_{output or 0}"

    def _add_step(self, node: node_def_pb2.NodeDef) -> None:
        signature = _attributes.signature(node.op)
        index = len(self._plan.steps)
        data = [self._tensor(name) for name in node.input if name[0] != "^"]
        control = [
            self._steps[name[1:]]
            for name in node.input
            if name[0] == "^" and name[1:] in self._steps
        ]
        inputs = _split(data, _attributes.argument_sizes(signature.inputs, node))
        sizes = _attributes.argument_sizes(signature.outputs, node)
        count = sum(1 if size is None else size for size in sizes)
        outputs = _split([f"s{index}_{i}" for i in range(count)], sizes)
        inferred = _attributes.inferred(signature.inputs, inputs)
        self._steps[node.name] = index
        self._plan.steps.append(
            Step(
                op=node.op,
                name=node.name,
                inputs=inputs,
                outputs=outputs,
                attrs={
                    name: _attributes.to_python(node.attr[name])
                    for name in signature.attrs
                    if name not in inferred and name in node.attr
                },
                control=control,
                node=node,
            )
        )


def _split(names: list[str], sizes: list[int | None]) -> list[str | list[str]]:
    """Groups tensors by argument."""
    groups: list[str | list[str]] = []
    rest = iter(names)
    for size in sizes:
        if size is None:
            groups.append(next(rest))
        else:
            groups.append([next(rest) for _ in range(size)])
    return groups
