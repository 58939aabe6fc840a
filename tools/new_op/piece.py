# SPDX-License-Identifier: Apache-2.0
"""A part of an op: a new file, or rows of an existing one."""

import dataclasses
from collections.abc import Callable

from source_tree import Tree

from new_op import edits
from new_op.errors import NewOpError
from new_op.op import Op
from new_op.rendering import render

_Change = Callable[[str, str], str]


@dataclasses.dataclass(frozen=True)
class Piece:
    """A file of an op, or the op's rows in a file.

    Attributes:
      path: The file.
      what: A description.
      insert: Maps the path and text of the file to the new text; a new file has no text before.
      remove: Maps them to the text without the piece; None if the file is removed.
    """

    path: str
    what: str
    insert: _Change
    remove: _Change | None = None

    def apply(self, tree: Tree) -> None:
        text = tree.read(self.path) if self.remove else ""
        tree.write(self.path, self.insert(self.path, text))

    def revert(self, tree: Tree) -> None:
        if self.remove:
            tree.write(self.path, self.remove(self.path, tree.read(self.path)))
        elif tree.exists(self.path):
            tree.remove(self.path)
        else:
            raise NewOpError(f"there is no file {self.path}")


def new_file(op: Op, path: str, template: str, what: str) -> Piece:
    return Piece(path, what, lambda path, _: edits.formatted(path, render(op, template)))
