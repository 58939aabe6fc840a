# SPDX-License-Identifier: Apache-2.0
"""Writes a program in another language that calls every wrapper of ops.

Takes the arguments of `python -m tensorflow_ext wrappers`. `op_wrappers` of
tensorflow_ext/op_wrappers.bzl, with this as its `command`, makes the program,

    all_ops LIBRARY... OUT

which loads these op libraries, makes one graph, and writes its GraphDef to OUT. For each call of
`calls` (calls.py describes a call) the graph has
  - a placeholder for each tensor of `call.inputs`, with its name and type and without a
    shape,
  - the op `call.name`, made by its wrapper from these, `call.required` and `call.optional`,
  - an Identity of its name for each tensor of `call.outputs`, whose input is the wrapper's
    result for that output.
If a binding chooses node names itself, the nodes are in a scope of the call's name. Errors are
printed to standard error with the call's name, and end the program with 1. No other part of the
program knows an op: all_ops_test.py compares the graph.

To add a language, add a template templates/all_ops.jinja with its own extension, such as
templates/all_ops.cc.jinja, a row in TEMPLATES, and its program in BUILD's `PROGRAMS`.
"""

import argparse
import dataclasses
import pathlib
import sys
from typing import Any

import go_calls
import java_calls
from calls import calls

from tensorflow_ext._typed_wrappers import command, cxx, language, op_interface, rust

_TEMPLATES = pathlib.Path(__file__).absolute().parent / "templates"


def _cxx_value(attribute: op_interface.Attribute, value: Any) -> str:
    """A value in C++, even if only the OpDef has a default for its type."""
    if attribute.type not in ("func", "tensor"):
        text = cxx.literal(attribute, value)
        element = cxx.TYPES[attribute.type]
        return f"std::vector<{element}>{text}" if attribute.is_list else text
    texts = [
        f'Function("{x.name}")' if attribute.type == "func" else f"Scalar({x.float_val[0]})"
        for x in (value if attribute.is_list else [value])
    ]
    return f"{{{', '.join(texts)}}}" if attribute.is_list else texts[0]


def _rust_value(attribute: op_interface.Attribute, value: Any) -> str:
    """A value in Rust."""
    if attribute.is_list:
        one = dataclasses.replace(attribute, is_list=False)
        texts = [_rust_value(one, x) for x in value]
        owned = ".to_string()" if attribute.type in ("func", "string") else ""
        return f"vec![{', '.join(text + owned for text in texts)}]"
    if attribute.type == "func":
        return f'"{value.name}"'
    if attribute.type == "tensor":
        return f"Tensor::from({value.float_val[0]}f32)"
    if attribute.type == "shape":
        sizes = ", ".join("None" if size is None else f"Some({size})" for size in value)
        return f"Shape::from(Some(vec![{sizes}]))"
    return rust.scalar(attribute.type, value)


# By language: the extension of the program, its template, and the template's functions in addition
# to the wrappers' filters.
TEMPLATES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "cxx": (".cc", "all_ops.cc.jinja", {"value": _cxx_value}),
    "go": (".go", "all_ops.go.jinja", go_calls.FILTERS),
    "java": (".java", "all_ops.java.jinja", java_calls.FILTERS),
    "rust": (".rs", "all_ops.rs.jinja", {"value": _rust_value}),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["wrappers"])
    command.add_arguments(parser)
    arguments = parser.parse_args()
    chosen = command.find_language(arguments.language)
    end, template, filters = TEMPLATES[arguments.language]
    ops = op_interface.describe_all(command.read_op_defs(arguments.library))
    name = arguments.name or command.library_name(arguments.library)
    files = language.render(
        dataclasses.replace(
            chosen, templates={end: template}, files=None, filters={**chosen.filters, **filters}
        ),
        ops,
        name,
        arguments.write.stem,
        _TEMPLATES,
        calls=calls(ops),
        is_own=not arguments.library,
    )
    arguments.write.write_text(files[end])
    return 0


if __name__ == "__main__":
    sys.exit(main())
