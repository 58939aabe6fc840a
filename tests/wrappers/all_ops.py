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

With --train it is the program all_objects, which makes each object of `objects` (objects.py) by its
wrapper, gives every field its value, and prints its JSON on a line.

A language brings all of this in bindings/LANGUAGE: the templates wrappers_test/all_ops.*.jinja and
all_objects.*.jinja, the module LANGUAGE_calls beside them, whose FILTERS are the templates'
functions in addition to those of the wrappers, and the programs in its BUILD.
"""

import argparse
import dataclasses
import importlib
import pathlib
import sys

from calls import calls
from objects import all_objects

from tensorflow_ext_codegen import language, op_interface, wrappers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["wrappers"])
    wrappers.add_arguments(parser)
    arguments = parser.parse_args()
    chosen = wrappers.find_language(arguments.language)
    own = importlib.import_module(f"{arguments.language}_calls")
    program = "all_objects" if arguments.train else "all_ops"
    (template,) = pathlib.Path(own.__file__).parent.glob(f"{program}.*.jinja")
    end = template.with_suffix("").suffix
    op_defs = [] if arguments.train else wrappers.read_op_defs(arguments.library)
    ops = op_interface.describe_all(op_defs)
    name = arguments.name or wrappers.library_name(arguments.library)
    files = language.render(
        dataclasses.replace(
            chosen,
            templates={end: template.name},
            train={end: template.name},
            files=None,
            filters={**chosen.filters, **own.FILTERS},
        ),
        ops,
        name,
        arguments.write.stem,
        template.parent,
        calls=calls(ops),
        objects=all_objects(),
        is_own=not arguments.library,
    )
    arguments.write.write_text(files[end])
    return 0


if __name__ == "__main__":
    sys.exit(main())
