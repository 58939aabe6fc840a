"""Finds the gradient of an op and its provider in each client."""

import dataclasses

import tensorflow as tf
from tensorflow.core.framework import function_pb2, node_def_pb2, types_pb2

from tensorflow_ext._explain import _clients, _lines, _node
from tensorflow_ext._explain._node import ExplainError
from tensorflow_ext._runtime import _library, _plan

_DIFFERENTIABLE = {
    types_pb2.DT_HALF,
    types_pb2.DT_BFLOAT16,
    types_pb2.DT_FLOAT,
    types_pb2.DT_DOUBLE,
    types_pb2.DT_COMPLEX64,
    types_pb2.DT_COMPLEX128,
    types_pb2.DT_RESOURCE,
    types_pb2.DT_VARIANT,
}


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The gradient of an op with given attributes.

    `chosen`: the attributes that were not given. `types`: the types of the inputs, then
    of the outputs, as (name, type).
    """

    node: node_def_pb2.NodeDef
    chosen: set[str]
    inputs: list[tuple[str, int]]
    outputs: list[tuple[str, int]]
    gradient: _lines.Readable
    providers: list[_clients.Provider]
    function: function_pb2.FunctionDef


def explain(op: str, attrs: list[str] | None = None, library: str | None = None) -> Explanation:
    """Finds the gradient of an op.

    Args:
      op: Name of a registered op.
      attrs: Its attributes as "name=value"; see _node.make_node.
      library: The file that holds the definition, if it is neither TensorFlow's nor
        this library's.

    Raises:
      ExplainError: There is no such op, it has no definition, or attributes are
        unknown, wrong or missing.
    """
    _node.find_op_def(op)
    providers = _clients.providers(op, library)
    bits = _library.Registries
    if bits.FUNCTION_GRADIENT not in _library.registries(op):
        raise ExplainError(_why_none(op, providers))
    node, chosen = _node.make_node(op, attrs or [])
    return explain_node(node, chosen, providers)


def explain_node(
    node: node_def_pb2.NodeDef, chosen: set[str], providers: list[_clients.Provider]
) -> Explanation:
    """`explain` for an op with all its attributes; `chosen` are those not given."""
    op_def = _node.find_op_def(node.op)
    try:
        plan = _plan.find(node, None)
        serialized = _library.gradient_function_def(node.SerializeToString())
    except tf.errors.OpError as error:
        raise ExplainError(_node.one_line(error)) from None

    def arguments(listed: list) -> list[tuple[str, int]]:
        return list(
            zip(_node.argument_names(listed, node), _node.argument_types(listed, node), strict=True)
        )

    return Explanation(
        node=node,
        chosen=chosen,
        inputs=arguments(list(op_def.input_arg)),
        outputs=arguments(list(op_def.output_arg)),
        gradient=_lines.read(node, plan),
        providers=providers,
        function=function_pb2.FunctionDef.FromString(serialized),
    )


def _why_none(op: str, providers: list[_clients.Provider]) -> str:
    op_def = _node.find_op_def(op)
    having = [p for p in providers if p.who != "none"]
    if having:
        listed = "; ".join(f"{p.client}: {p}" for p in having)
        return f"{op} has a gradient, but no definition to show ({listed})."
    kinds = {argument.type for argument in op_def.output_arg}
    if not kinds:
        return f"{op} has no gradient: it has no outputs."
    if not kinds & (_DIFFERENTIABLE | {0}):
        named = " and ".join(sorted(_node.type_name(kind) for kind in kinds))
        return f"{op} has no gradient: its outputs are {named}."
    if not op_def.input_arg:
        return f"{op} has no gradient: it has no inputs."
    if any("declared" in p.how for p in providers):
        where = "; ".join(p.client for p in providers if "declared" in p.how)
        return f"{op} has no gradient: it is declared to have none ({where})."
    return f"{op} has no gradient: no client has a definition of one."


def text(explanation: Explanation, with_definition: bool = False) -> str:
    """The explanation as lines to read."""
    node, gradient = explanation.node, explanation.gradient
    inputs, outputs = map(_typed, (explanation.inputs, explanation.outputs))
    values = [
        f"{name} = {_lines.attr_text(node.attr[name])}"
        + (" (not given)" if name in explanation.chosen else "")
        for name in (attr.name for attr in _node.find_op_def(node.op).attr)
    ]
    lines = [
        f"The gradient of {node.op}",
        f"  inputs      {inputs or 'none'}",
        f"  outputs     {outputs or 'none'}",
        f"  attributes  {', '.join(values) or 'none'}",
        "",
        *(f"  {line}" for line in gradient.text or ["No input has a gradient."]),
    ]
    if gradient.reused:
        lines += ["", f"  Outputs of the op that are reused: {', '.join(gradient.reused)}"]
    types = dict(explanation.inputs)
    without = [
        f"{name} ({_node.type_name(types[name])})"
        for name, result in gradient.results.items()
        if result is None
    ]
    if without and len(without) < len(types):
        lines += ["", f"  Inputs without a gradient: {', '.join(without)}"]
    lines += ["", "Who provides it"]
    lines += [f"  {p.client:16}  {p}" for p in explanation.providers]
    if with_definition:
        lines += ["", "The definition as it was written"]
        lines += [f"  {s}" for s in _lines.definition(explanation.function)]
    return "\n".join(lines)


def _typed(arguments: list[tuple[str, int]]) -> str:
    named = (f"{name}: {_node.type_name(kind)}" for name, kind in arguments)
    return ", ".join(named)
