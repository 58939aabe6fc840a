# SPDX-License-Identifier: Apache-2.0
"""Fills in the templates of an op."""

import inspect
import pathlib
from typing import Any

import jinja2

from new_op import formulas, language
from new_op.op import Op
from new_op.specification import Argument

_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent / "templates"),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # The output is C++ and Python.
)

_ENVIRONMENT.globals.update(inspect.getmembers(language, inspect.isfunction))


def render(op: Op, template: str) -> str:
    """Renders a template of tools/new_op/templates for an op."""
    return _ENVIRONMENT.get_template(f"{template}.jinja").render(_context(op))


def _describe_input(op: Op, x: Argument) -> str:
    of = "type F" if op.is_floating(x) else f"type {' or '.join(op.allowed(x))}"
    if x is op.inputs[0]:
        return f"Tensor of {of} and any shape."
    if op.broadcasts:
        return "Tensor of the same type and a shape that broadcasts with that of x."
    return f"Tensor of {of} and the same shape."


def _context(op: Op) -> dict[str, Any]:
    """The variables that the templates of an op use."""
    folder = op.folder.upper()
    python_attributes = [a for a in op.attributes if a.default is None]
    python_attributes += [a for a in op.attributes if a.default is not None]
    result: dict[str, Any] = {
        "attributes": op.attributes,
        "arity": op.arity,
        "broadcasts": op.broadcasts,
        "folder": op.folder,
        "attributes_guard": (f"TENSORFLOW_EXT_OPS_{folder}_{op.name.upper()}_ATTRIBUTES_H_"),
        "guard": f"TENSORFLOW_EXT_OPS_{folder}_{folder}_H_",
        "has_minima": op.has_minima,
        "inputs": op.inputs,
        "keyword_attributes": [f"{a.name}={a.name}" for a in op.attributes],
        "list": f"TENSORFLOW_EXT_{folder}",
        "members": ", ".join(a.name for a in op.attributes),
        "module": op.module,
        "name": op.name,
        "op": op.op,
        "outputs": op.outputs,
        "python_attributes": python_attributes,
        "quoted_attributes": ", ".join(f'"{a.name}"' for a in op.attributes),
        "type": f"TfExt>{op.op}",
        "describe_input": lambda x: _describe_input(op, x),
        "describe_outputs": (
            "Tensor of the same type and the broadcast shape."
            if op.broadcasts
            else "Tensor of the same type and shape."
            if len(op.outputs) == 1
            else f"Tensors of the same shape: {', '.join(x.name for x in op.outputs)}."
        ),
        "describe_errors": (
            "The shapes do not broadcast."
            if op.broadcasts
            else "The shapes differ."
            if op.arity > 1
            else "`x` is of another type."
        ),
    }
    of_kind = formulas.of_general if op.kind == "general" else formulas.of_pointwise
    return {**result, **of_kind(op)}
