"""The command `python -m tensorflow_ext explain`."""

import argparse
import os
import pathlib
import sys

import tensorflow as tf

from tensorflow_ext import _op_libraries, _saved_model
from tensorflow_ext._explain import _draw, _explain, _node
from tensorflow_ext._explain._node import ExplainError
from tensorflow_ext._runtime import _library


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "op",
        metavar="OP|MODEL",
        help="the op's type, such as 'TfExt>Relu' or Erfc; or the folder of a SavedModel, to list "
        "the gradients that it brings",
    )
    parser.add_argument(
        "--attr",
        action="extend",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="an attribute; by default its default, and float for a type",
    )
    parser.add_argument(
        "--library", action="append", default=[], metavar="FILE", help="an op library to load first"
    )
    parser.add_argument(
        "--definition", action="store_true", help="also print the definition as it was written"
    )
    parser.add_argument(
        "--draw",
        action="append",
        default=[],
        type=pathlib.Path,
        metavar="FILE",
        help="draw the gradient: FILE.svg or FILE.png (needs Graphviz), or FILE.dot",
    )
    parser.add_argument("--dot", action="store_true", help="print only the Graphviz text")


def run(arguments: argparse.Namespace) -> None:
    """Prints and draws the gradient that the arguments name.

    Raises:
      ExplainError: A file or the gradient is missing.
    """
    _load(arguments.library)
    if os.path.isdir(arguments.op):
        print(_gradients_of_model(arguments.op))
        return
    for path in arguments.draw:
        _draw.check(path)
    explanation = _explain.explain(arguments.op, arguments.attr, _origins.get(arguments.op))
    if arguments.dot:
        print(_draw.dot(explanation.node, explanation.gradient), end="")
    else:
        print(_explain.text(explanation, arguments.definition))
    for path in arguments.draw:
        _draw.draw(explanation.node, explanation.gradient, path)


def _gradients_of_model(folder: str) -> str:
    try:
        rows = [row for row in _saved_model.describe_saved_model(folder) if row[0] == "gradient"]
    except tf.errors.OpError as error:
        raise ExplainError(_node.one_line(error)) from None
    lines = [
        f"{name}: {state}, of node {node}" + (f" in function {function}" if function else "")
        for _, function, node, name, state in rows
    ]
    if not lines:
        return "the model brings no gradients: every node has the gradient of its op"
    hint = (
        "Hand the model over to use those that are present (docs/saved_models.md). A client that "
        "differentiates through a missing one gets an error."
    )
    return "\n".join([*lines, hint])


# The library file of each op whose gradient was loaded by this command.
_origins: dict[str, str] = {}


def _load(files: list[str]) -> None:
    """Loads op libraries; gradients that they cannot register go to standard error."""
    known = _own_gradients() if files else {}
    for file in files:
        try:
            _op_libraries.load_op_library(file)
        except (FileNotFoundError, ImportError) as error:
            message = _node.one_line(error)
            raise ExplainError(f"--library {file}: {message}") from None
        except RuntimeError as error:
            print(f"--library {file}: {error}", file=sys.stderr)
        now = _own_gradients()
        changed = [op for op, bits in now.items() if known.get(op) != bits]
        _origins.update(dict.fromkeys(changed, pathlib.Path(file).name))
        known = now


def _own_gradients() -> dict[str, _library.Registries]:
    """The ops with a definition, and the registries that use it."""
    return {op: _library.registries(op) for op in _library.list_ops()}
