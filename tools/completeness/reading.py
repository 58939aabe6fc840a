# SPDX-License-Identifier: Apache-2.0
"""Sources read as text and as Python's syntax tree."""

import ast
import functools
import re
from collections.abc import Iterator

from source_tree import Tree

OP = r'"TfExt>(\w+)"'


def python_name(op: str) -> str:
    """The name of an op in tensorflow_ext.raw_ops."""
    words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", op)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words).lower()


def calls(module: ast.Module, name: str) -> Iterator[ast.Call]:
    """The calls of the function with this name."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(name):
            yield node


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


class Reading:
    """Reads sources for every kind of fact."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def parse(self, path: str) -> ast.Module:
        """The syntax tree of a Python file; empty if there is no such file."""
        return _parsed(self.tree.read(path) if self.tree.exists(path) else "")

    def sources(self, folder: str, *suffixes: str) -> Iterator[tuple[str, str]]:
        """The files below a folder, and their texts."""
        for path in self.tree.files(folder, *suffixes):
            yield path, self.tree.read(path)

    def assigned(self, path: str, name: str) -> ast.expr | None:
        """The value that a module assigns to a name."""
        for node in self.parse(path).body:
            if isinstance(node, ast.Assign):
                targets = node.targets
            elif isinstance(node, ast.AnnAssign):
                targets = [node.target]
            else:
                continue
            if name in map(ast.unparse, targets):
                return node.value
        return None

    def dictionary(self, path: str, name: str) -> dict[str, ast.expr]:
        """The rows of a dictionary that a module assigns to a name."""
        value = self.assigned(path, name)
        if not isinstance(value, ast.Dict):
            return {}
        return {
            key.value: row
            for key, row in zip(value.keys, value.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        }

    def names(self, path: str, name: str) -> list[str]:
        """The strings of a list or tuple that a module assigns to a name."""
        value = self.assigned(path, name)
        return [] if value is None else list(ast.literal_eval(value))
