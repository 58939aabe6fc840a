"""Runs the Python blocks of one page, in one namespace, in order.

If an expression is followed by a comment that is a Python literal, it must have that value.
"""

import ast
import json
import pathlib
import tokenize
from collections.abc import Iterator
from io import StringIO
from typing import Any

import numpy as np


def run(file: str) -> None:
    """Runs a page.

    Args:
      file: A JSON file with a list of (location, code).

    Raises:
      AssertionError: A value differs from the page's.
    """
    namespace: dict[str, Any] = {"__name__": "page"}
    for where, code in json.loads(pathlib.Path(file).read_text(encoding="utf-8")):
        expected = dict(_literals(code))
        for statement in ast.parse(code, where).body:
            if not isinstance(statement, ast.Expr):
                module = ast.Module([statement], [])
                exec(compile(module, where, "exec"), namespace)
                continue
            expression = ast.Expression(statement.value)
            value = eval(compile(expression, where, "eval"), namespace)
            if statement.end_lineno in expected:
                _compare(where, value, expected[statement.end_lineno])


def _literals(code: str) -> Iterator[tuple[int, Any]]:
    """The comments that are literals, by line."""
    for token in tokenize.generate_tokens(StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            try:
                yield token.start[0], ast.literal_eval(token.string[1:].strip())
            except (SyntaxError, ValueError):
                continue  # Prose.


def _compare(where: str, value: Any, expected: Any) -> None:
    array = np.asarray(expected)
    if array.dtype.kind in "iufc":
        np.testing.assert_allclose(np.asarray(value), array, 1e-5, err_msg=where)
    else:
        assert value == expected, f"{where}: {value!r}, the page says {expected!r}"
