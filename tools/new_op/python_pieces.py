# SPDX-License-Identifier: Apache-2.0
"""The pieces of an op in Python and on the pages."""

import re
from collections.abc import Iterator

from completeness.checks import COMPARISONS, RULES
from completeness.python import FORMULAS, PYTHON
from completeness.reading import Reading
from source_tree import Tree

from new_op import edits
from new_op.op import Op
from new_op.piece import Piece
from new_op.rendering import render

_OPS = f"{PYTHON}/ops"
_README = "README.md"


def in_python(op: Op, tree: Tree) -> Iterator[Piece]:
    module = f"{_OPS}/{op.module}.py"
    name = op.name
    exported = Reading(tree).names(module, "__all__")
    relatives = [x for x in exported if x != name]
    if not relatives:
        yield from _new_module(op, module)
    yield Piece(
        module,
        "its function",
        lambda path, text: edits.formatted(
            path,
            edits.change_exports(path, text, lambda names: [*names, name])
            + render(op, "python/function.py"),
        ),
        lambda path, text: edits.change_exports(
            path,
            edits.remove_function(path, text, name),
            lambda names: [other for other in names if other != name],
        ),
    )
    yield Piece(
        RULES,
        "how tf.vectorized_map runs it",
        lambda path, text: _with_rule(path, text, op),
        lambda path, text: _without_rule(path, text, op),
    )
    section = "_ARITHMETIC = [" if op.broadcasts else "_ACTIVATIONS = ["
    if op.kind == "general":
        section = "_ZEROING = ["
    yield Piece(
        COMPARISONS,
        "the formula in TensorFlow's own ops, for tests",
        lambda path, text: edits.formatted(
            path, edits.append_to_list(path, text, section, render(op, "python/comparison.py"))
        ),
        lambda path, text: edits.remove_calls(
            path, text, "Comparison", lambda x: x.partition(",")[0] == name
        ),
    )
    yield Piece(
        FORMULAS,
        "the formula in LaTeX, for its page",
        lambda path, text: edits.formatted(
            path,
            edits.append_to_list(
                path,
                text,
                "FORMULAS: dict[str, tuple[str, ...]] = {",
                render(op, "python/latex.py"),
            ),
        ),
        lambda path, text: edits.remove_key(path, text, op.op),
    )
    yield Piece(
        _README,
        "its name in the list of ops",
        lambda path, text: edits.insert_into_table(path, text, name, op.module, relatives),
        lambda path, text: edits.remove_from_table(path, text, name),
    )


def _new_module(op: Op, module: str) -> Iterator[Piece]:
    """The first function of a module."""
    yield Piece(module, "a module", lambda *_: render(op, "python/module.py"))
    names = f"    {op.module},"
    star = f"from tensorflow_ext.ops.{op.module} import *"
    added = f"__all__ += {op.module}.__all__"

    def insert(path: str, text: str) -> str:
        anchor = "from tensorflow_ext.ops import ("
        text = edits.insert_sorted(path, text, anchor, names)
        text = edits.insert_among(path, text, "from tensorflow_ext.ops.", star)
        return edits.insert_among(path, text, "__all__ += ", added)

    yield Piece(
        f"{_OPS}/__init__.py",
        "the module",
        insert,
        lambda path, text: edits.remove_lines(path, text, {names, star, added}.__contains__),
    )


def _with_rule(path: str, text: str, op: Op) -> str:
    rule = "broadcasting" if op.broadcasts else "elementwise"
    row = f'    "{op.name}": {rule},\n'
    section = f"    # {op.module}"
    if section in text.splitlines():
        return edits.insert_below(path, text, section, row)
    anchor = "_RULES: dict[str, Rule] = {"
    return edits.append_to_list(path, text, anchor, f"{section}\n{row}")


def _without_rule(path: str, text: str, op: Op) -> str:
    text = edits.remove_lines(path, text, lambda line: line.startswith(f'    "{op.name}":'))
    # Removes a section without rows.
    return re.sub(rf"^    # {op.module}\n(?=    #|\}})", "", text, flags=re.M)
