# SPDX-License-Identifier: Apache-2.0
"""What the gradient of an op is and who provides it: `explain` of the command line."""

import argparse
import dataclasses
import pathlib
import sys

import tensorflow as tf
from tensorflow.core.framework import function_pb2, node_def_pb2, types_pb2

from tensorflow_ext import (
    _explain_clients,
    _explain_draw,
    _explain_lines,
    _explain_node,
    _library,
    _op_libraries,
    _plan,
)
from tensorflow_ext._explain_node import ExplainError

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

    `chosen`: the attributes that were not given. `types`: of the inputs, then of the
    outputs, as (name, type).
    """

    node: node_def_pb2.NodeDef
    chosen: set[str]
    inputs: list[tuple[str, int]]
    outputs: list[tuple[str, int]]
    gradient: _explain_lines.Readable
    providers: list[_explain_clients.Provider]
    function: function_pb2.FunctionDef


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("op", help="the op's type, such as 'TfExt>Relu' or Erfc")
    parser.add_argument(
        "--attr",
        action="extend",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="an attribute; those with a default may be missing, types are float",
    )
    parser.add_argument(
        "--library",
        action="append",
        default=[],
        metavar="FILE",
        help="a library of ops to load first",
    )
    parser.add_argument(
        "--definition", action="store_true", help="print it as its author wrote it, too"
    )
    parser.add_argument(
        "--draw",
        action="append",
        default=[],
        type=pathlib.Path,
        metavar="FILE",
        help="draw it: FILE.svg or FILE.png (by Graphviz' dot), or FILE.dot",
    )
    parser.add_argument("--dot", action="store_true", help="print Graphviz' text and nothing else")


def run(arguments: argparse.Namespace) -> None:
    """Prints and draws what the arguments ask for.

    Raises:
      ExplainError: Something of it cannot be had.
    """
    _load(arguments.library)
    for path in arguments.draw:
        _explain_draw.check(path)
    explanation = explain(arguments.op, arguments.attr, _origins.get(arguments.op))
    if arguments.dot:
        print(_explain_draw.dot(explanation.node, explanation.gradient), end="")
    else:
        print(text(explanation, arguments.definition))
    for path in arguments.draw:
        _explain_draw.draw(explanation.node, explanation.gradient, path)


# The file of each op whose gradient came with a library that was loaded here.
_origins: dict[str, str] = {}


def _load(files: list[str]) -> None:
    """Loads op libraries; what one could not register goes to standard error."""
    known = _own_gradients() if files else {}
    for file in files:
        try:
            _op_libraries.load_op_library(file)
        except (FileNotFoundError, ImportError) as error:
            message = _explain_node.one_line(error)
            raise ExplainError(f"--library {file}: {message}") from None
        except RuntimeError as error:
            print(f"--library {file}: {error}", file=sys.stderr)
        now = _own_gradients()
        changed = [op for op, bits in now.items() if known.get(op) != bits]
        _origins.update(dict.fromkeys(changed, pathlib.Path(file).name))
        known = now


def _own_gradients() -> dict[str, _library.Registries]:
    """The ops with a definition, and where it counts."""
    return {op: _library.registries(op) for op in _library.list_ops()}


def explain(op: str, attrs: list[str] | None = None, library: str | None = None) -> Explanation:
    """Finds out what the gradient of an op is.

    Args:
      op: Name of a registered op.
      attrs: Its attributes as "name=value"; see _explain_node.make_node.
      library: The file that holds the definition, if it is neither TensorFlow's nor
        this library's.

    Raises:
      ExplainError: There is no such op, it has no definition, or attributes are
        unknown, wrong or missing.
    """
    _explain_node.find_op_def(op)
    providers = _explain_clients.providers(op, library)
    bits = _library.Registries
    if bits.FUNCTION_GRADIENT not in _library.registries(op):
        raise ExplainError(_why_none(op, providers))
    node, chosen = _explain_node.make_node(op, attrs or [])
    return explain_node(node, chosen, providers)


def explain_node(
    node: node_def_pb2.NodeDef, chosen: set[str], providers: list[_explain_clients.Provider]
) -> Explanation:
    """The same for an op with all its attributes, of which some were `chosen`."""
    op_def = _explain_node.find_op_def(node.op)
    try:
        plan = _plan.find(node, None)
        serialized = _library.gradient_function_def(node.SerializeToString())
    except tf.errors.OpError as error:
        raise ExplainError(_explain_node.one_line(error)) from None

    def arguments(listed: list) -> list[tuple[str, int]]:
        return list(
            zip(
                _explain_node.argument_names(listed, node),
                _explain_node.argument_types(listed, node),
                strict=True,
            )
        )

    return Explanation(
        node=node,
        chosen=chosen,
        inputs=arguments(list(op_def.input_arg)),
        outputs=arguments(list(op_def.output_arg)),
        gradient=_explain_lines.read(node, plan),
        providers=providers,
        function=function_pb2.FunctionDef.FromString(serialized),
    )


def _why_none(op: str, providers: list[_explain_clients.Provider]) -> str:
    op_def = _explain_node.find_op_def(op)
    having = [p for p in providers if p.who != "none"]
    if having:
        listed = "; ".join(f"{p.client}: {p}" for p in having)
        return f"{op} has no definition that could be shown ({listed})."
    kinds = {argument.type for argument in op_def.output_arg}
    if not kinds:
        return f"{op} has no gradient: it has no outputs."
    if not kinds & (_DIFFERENTIABLE | {0}):
        named = " and ".join(sorted(_explain_node.type_name(kind) for kind in kinds))
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
        f"{name} = {_explain_lines.attr_text(node.attr[name])}"
        + (" (not given)" if name in explanation.chosen else "")
        for name in (attr.name for attr in _explain_node.find_op_def(node.op).attr)
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
        f"{name} ({_explain_node.type_name(types[name])})"
        for name, result in gradient.results.items()
        if result is None
    ]
    if without and len(without) < len(types):
        lines += ["", f"  Inputs without a gradient: {', '.join(without)}"]
    lines += ["", "Who provides it"]
    lines += [f"  {p.client:16}  {p}" for p in explanation.providers]
    if with_definition:
        lines += ["", "The definition, as it was written"]
        lines += [f"  {s}" for s in _explain_lines.definition(explanation.function)]
    return "\n".join(lines)


def _typed(arguments: list[tuple[str, int]]) -> str:
    named = (f"{name}: {_explain_node.type_name(kind)}" for name, kind in arguments)
    return ", ".join(named)
