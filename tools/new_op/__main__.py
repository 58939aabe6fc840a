# SPDX-License-Identifier: Apache-2.0
"""Writes a new op that builds and passes all tests at once, for its formula to be
changed; or takes it out again.

An elementwise op gets the placeholder x^3, or x^2 y^2, times 1 and its attributes, with
its derivatives to second order; another op gets sums of its inputs. The places to change are
printed, and marked in the files. docs/adding_an_op.md says what you write by hand.

Examples:
  ./run new-op squareplus --unary --attr b:float=4
  ./run new-op squareplus --unary --attr b:float=4 --family activations
  ./run new-op hypotenuse --binary
  ./run new-op blend --binary --same-shape --attr "weight:float>=0=0.5"
  ./run new-op choose --unary --attr "mode:{up,down}=up"
  ./run new-op select_rows --inputs x:T indices:Tindices --outputs y:T
  ./run new-op squareplus --remove
"""

import argparse
import pathlib
import subprocess
import sys
from collections.abc import Sequence

from completeness.cpp import BUDGETS
from source_tree import MissingFileError, Tree

from new_op import specification
from new_op.errors import NewOpError
from new_op.existing import check_free, find
from new_op.op import Op, general, pointwise
from new_op.pieces import Piece, pieces, without_budgets

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="./run new-op",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("name", help="the op's Python function: floor_mod is TfExt>FloorMod")
    kind = result.add_mutually_exclusive_group()
    kind.add_argument("--unary", action="store_true", help="y = f(x), element by element")
    kind.add_argument("--binary", action="store_true", help="z = f(x, y), which broadcast")
    kind.add_argument("--inputs", nargs="+", metavar="NAME:TYPE", help="any op: its inputs")
    kind.add_argument("--remove", action="store_true", help="take the op out again")
    result.add_argument("--outputs", nargs="+", metavar="NAME:TYPE", help="beside --inputs")
    result.add_argument(
        "--attr",
        action="append",
        default=[],
        metavar="NAME:TYPE[>=MINIMUM][=DEFAULT]",
        help="an attribute; TYPE is bool, int, float, string, type, list(TYPE) or what "
        "is allowed: 'mode:{up,down}=up', 'Tout:{float,double}', in quotes",
    )
    result.add_argument(
        "--same-shape", action="store_true", help="beside --binary: x and y have one shape"
    )
    result.add_argument(
        "--family",
        metavar="FOLDER",
        help="the folder of tensorflow_ext/ops that an elementwise op goes into; "
        "by default it has its own",
    )
    result.add_argument(
        "--module",
        metavar="MODULE",
        help="of python/tensorflow_ext/ops, for the function; a new one is made",
    )
    return result


def op_of(options: argparse.Namespace) -> Op:
    """The op that the arguments describe.

    Raises:
      NewOpError: They do not describe one.
    """
    specification.check_op_name(options.name)
    if options.module is not None:
        specification.check_op_name(options.module)
    attributes = [specification.parse_attribute(word) for word in options.attr]
    for other, needed in (("outputs", "inputs"), ("same_shape", "binary")):
        if getattr(options, other) and not getattr(options, needed):
            option = other.replace("_", "-")
            raise NewOpError(f"--{option}: expected beside --{needed} alone")
    if options.unary or options.binary:
        broadcasts = options.binary and not options.same_shape
        return pointwise(
            options.name, options.binary, broadcasts, options.family, options.module, attributes
        )
    if not options.inputs:
        raise NewOpError("expected --unary, --binary, --inputs with --outputs, or --remove")
    if options.family:
        raise NewOpError(f"--family {options.family}: expected beside --unary, --binary")
    parse = specification.parse_argument
    return general(
        options.name,
        options.module,
        attributes,
        [parse("--inputs", word) for word in options.inputs],
        [parse("--outputs", word) for word in options.outputs or []],
    )


def add(op: Op, tree: Tree) -> list[Piece]:
    """Writes an op into the tree.

    Raises:
      NewOpError: The op exists, or a place for its rows is missing.
    """
    check_free(op, tree)
    written = pieces(op, tree)
    for piece in written:
        piece.apply(tree)
    return written


def remove(name: str, tree: Tree) -> list[Piece]:
    """Removes an op from the tree.

    Raises:
      NewOpError: There is no such op, or its files differ from what new-op writes.
    """
    op = find(name, tree)
    removed = pieces(op, tree)
    for piece in reversed(removed):
        piece.revert(tree)
    budgets = without_budgets(BUDGETS, tree.read(BUDGETS), op)
    tree.write(BUDGETS, budgets)
    if not op.family:
        for path in tree.files(f"tensorflow_ext/ops/{name}", ""):
            tree.remove(path)
    return removed


def _in_last_commit(path: str) -> subprocess.CompletedProcess[str]:
    """Asks Git for a file of this tree, which may be a folder of a repository."""
    return subprocess.run(
        ["git", "cat-file", "-e", f"HEAD:./{path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def _refuse_committed(name: str) -> None:
    """Raises NewOpError if Git has committed the op, because Git removes it better, or if Git does
    not know this tree, because the op may then be uncommitted."""
    try:
        of_tree = _in_last_commit("run")
        of_op = _in_last_commit(f"tests/clients/cases/{name}.cases")
    except FileNotFoundError as error:
        raise NewOpError(
            f"--remove: no git, which says whether {name} is part of the last commit; "
            "expected it on PATH (Debian, Ubuntu: sudo apt-get install git)"
        ) from error
    if of_tree.returncode != 0:
        said = of_tree.stderr.strip().partition("\n")[0].removeprefix("fatal: ")
        raise NewOpError(
            f"--remove: git does not say whether {name} is part of the last commit "
            f"({said}); expected a checkout whose last commit has ./run"
        )
    if of_op.returncode == 0:
        raise NewOpError(
            f"--remove: {name} is part of the last commit; expected an op that is not "
            "committed yet. Take it out by git revert"
        )


def _report(op: Op | None, written: Sequence[Piece]) -> None:
    for piece in written:
        print(f"  {piece.path}: {piece.what}")
    if op is None:
        return
    folder = f"tensorflow_ext/ops/{op.folder}/{op.folder}"
    print(
        "\nThe formula is a placeholder. Change it, and its derivatives, in\n"
        f"  {folder}.h and {folder}_grad.cc\n"
        "and then, or the tests fail, what it is compared with, where a comment\n"
        f"begins with '{op.name}: the formula'. The documentation too. Next:\n"
        "  ./run build\n"
        f"  .venv/bin/python tests/clients/python/judge.py --case={op.op}\n"
        "  ./run missing"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs new-op with these arguments; returns the exit status."""
    options = parser().parse_args(arguments)
    tree = Tree(ROOT)
    try:
        if options.remove:
            _refuse_committed(options.name)
            removed = remove(options.name, tree)
            tree.commit()
            print(f"Taken out: {options.name}")
            _report(None, removed)
            return 0
        op = op_of(options)
        written = add(op, tree)
        tree.commit()
    except (NewOpError, MissingFileError) as error:
        print(f"./run new-op: {error}", file=sys.stderr)
        return 2
    print(f"TfExt>{op.op}, in Python tensorflow_ext.{op.name}:")
    _report(op, written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
