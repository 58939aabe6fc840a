# SPDX-License-Identifier: Apache-2.0
"""Inserts and removes rows in files that hold lists of rows.

Each function takes the text of a file and returns the new text. It raises NewOpError, which names
the place, if a place is missing.
"""

import ast
import re
import subprocess
import sysconfig
from collections.abc import Callable, Sequence

from new_op.errors import NewOpError


def _format(tool: str, *arguments: str, text: str) -> str:
    program = f"{sysconfig.get_path('scripts')}/{tool}"
    done = subprocess.run(
        [program, *arguments], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NewOpError(f"{tool}: {done.stderr or done.stdout}")
    return done.stdout


def formatted(path: str, text: str) -> str:
    """Formats the text with clang-format or ruff, by its file name."""
    if path.endswith((".h", ".cc")):
        # The style of .clang-format. The name says only that it is C++.
        style = "--style={BasedOnStyle: Google, ColumnLimit: 100}"
        return _format("clang-format", style, "--assume-filename=a.cc", text=text)
    if path.endswith(".py"):
        options = ("line-length = 100", "format.skip-magic-trailing-comma = true")
        config = [word for one in options for word in ("--config", one)] + ["--isolated"]
        return _format("ruff", "format", *config, "-", text=text)
    return text


# ----- Lines.


def _index_of(path: str, lines: Sequence[str], anchor: str) -> int:
    for index, line in enumerate(lines):
        if line == anchor:
            return index
    raise NewOpError(
        f"{path} has no line {anchor!r}, below which a row goes: put it there, or "
        "fix the anchor in tools/new_op/pieces.py"
    )


def insert_sorted(path: str, text: str, anchor: str, row: str) -> str:
    """Inserts a line into the sorted list that begins below the line `anchor` and ends with the
    first line that is not indented."""
    lines = text.splitlines()
    begin = end = _index_of(path, lines, anchor) + 1
    while end < len(lines) and lines[end].startswith(" "):
        end += 1
    at = begin
    # Upper case sorts first, like __all__ in ruff.
    while at < end and (row.lower() == row, row) > (lines[at].lower() == lines[at], lines[at]):
        at += 1
    return "\n".join([*lines[:at], row, *lines[at:], ""])


def insert_below(path: str, text: str, anchor: str, rows: str) -> str:
    """Inserts rows below the first line that is `anchor`."""
    lines = text.splitlines(keepends=True)
    at = _index_of(path, text.splitlines(), anchor) + 1
    return "".join([*lines[:at], rows, *lines[at:]])


def insert_above_last(path: str, text: str, anchor: str, rows: str) -> str:
    """Inserts rows above the last line that is `anchor`."""
    lines = text.splitlines(keepends=True)
    at = len(lines) - 1 - _index_of(path, text.splitlines()[::-1], anchor)
    return "".join([*lines[:at], rows, *lines[at:]])


def insert_among(path: str, text: str, prefix: str, row: str) -> str:
    """Inserts a line into the sorted block of neighbouring lines that begin with `prefix`."""
    lines = text.splitlines()
    found = [i for i, line in enumerate(lines) if line.startswith(prefix)]
    if not found:
        raise NewOpError(f"{path} has no line that begins with {prefix!r}")
    at = next((i for i in found if lines[i] > row), found[-1] + 1)
    return "\n".join([*lines[:at], row, *lines[at:], ""])


def append_to_list(path: str, text: str, anchor: str, rows: str) -> str:
    """Appends rows to the list that begins with the line `anchor`."""
    lines = text.splitlines(keepends=True)
    at = _index_of(path, text.splitlines(), anchor) + 1
    while at < len(lines) and not re.match(r"[\])}]", lines[at]):
        at += 1
    if at == len(lines):
        raise NewOpError(f"{path}: the list below {anchor!r} has no end")
    return "".join([*lines[:at], rows, *lines[at:]])


def remove_lines(path: str, text: str, matches: Callable[[str], bool]) -> str:
    """Removes the lines that match; at least one must match.

    Raises:
      NewOpError: No line matches.
    """
    lines = text.splitlines(keepends=True)
    kept = [line for line in lines if not matches(line.rstrip("\n"))]
    if len(kept) == len(lines):
        raise NewOpError(f"{path} has no such row")
    return "".join(kept)


# ----- Python.


def remove_calls(path: str, text: str, name: str, is_it: Callable[[str], bool]) -> str:
    """Removes list elements that are calls of `name` and whose first argument satisfies `is_it`,
    with the comment above that begins with the op."""
    lines = text.splitlines(keepends=True)
    dead: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == name
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and is_it(str(node.args[0].value))
        ):
            first = node.lineno - 1
            while re.match(r" +# \w+: the formula", lines[first - 1]):
                first -= 1
            dead.update(range(first, node.end_lineno or first + 1))
    if not dead:
        raise NewOpError(f"{path} has no such {name}")
    return "".join(line for i, line in enumerate(lines) if i not in dead)


def remove_key(path: str, text: str, key: str) -> str:
    """Removes the row of a dictionary with this key."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Dict):
            continue
        for name, value in zip(node.keys, node.values, strict=True):
            if isinstance(name, ast.Constant) and name.value == key:
                lines = text.splitlines(keepends=True)
                return "".join(lines[: name.lineno - 1] + lines[value.end_lineno :])
    raise NewOpError(f"{path} has no row {key!r}")


def change_exports(path: str, text: str, change: Callable[[list[str]], list[str]]) -> str:
    """Changes the names in __all__, which are on one line if they fit."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = change(ast.literal_eval(node.value))
            # Upper case sorts first.
            names = sorted(names, key=lambda name: (name.lower() == name, name))
            listed = ", ".join(f'"{name}"' for name in names)
            lines = text.splitlines(keepends=True)
            lines[node.lineno - 1 : node.end_lineno] = [f"__all__ = [{listed}]\n"]
            return formatted(path, "".join(lines))
    raise NewOpError(f"{path} has no '__all__ = [...]', the list of its functions")


def remove_function(path: str, text: str, name: str) -> str:
    """Removes a function from a module, and the two blank lines above it."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            lines = text.splitlines(keepends=True)
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
            while first and not lines[first - 1].strip():
                first -= 1
            return "".join(lines[:first] + lines[node.end_lineno :])
    raise NewOpError(f"{path} has no function {name}")


# ----- C++.


def remove_block(path: str, text: str, begin: str, end: str) -> str:
    """Removes the block from a line that matches `begin`, with the comment above it, to the next
    line that matches `end`, and a blank line after it."""
    lines = text.splitlines(keepends=True)
    for first, line in enumerate(lines):
        if not re.match(begin, line):
            continue
        last = first
        while last + 1 < len(lines) and not re.match(end, lines[last]):
            last += 1
        while first and lines[first - 1].startswith("//"):
            first -= 1
        if last + 1 < len(lines) and not lines[last + 1].strip():
            last += 1
        return "".join(lines[:first] + lines[last + 1 :])
    raise NewOpError(f"{path} has no line like {begin!r}")


def _macro(path: str, text: str, name: str) -> tuple[re.Match, list[str]]:
    """The list of a family's ops, and its rows."""
    found = re.search(rf"^#define {name}\(OP\)(?:[^\n]*\\\n)+[^\n]*\n", text, re.M)
    if found is None:
        raise NewOpError(
            f"{path} has no '#define {name}(OP) ...', the list of the family's functors"
        )
    return found, re.findall(r'OP\("[^"]+",\s*(?:\\\n\s*)?\w+\)', found[0])


def change_macro(path: str, text: str, name: str, change: Callable[[list[str]], list[str]]) -> str:
    """Changes the rows of the list of a family's ops, `OP("TfExt>X", X)`."""
    found, rows = _macro(path, text, name)
    changed = change(rows)
    if changed == rows:
        raise NewOpError(f"{path}: the list {name} has no such row")
    body = "".join(f" \\\n  {row}" for row in changed)
    return formatted(path, text.replace(found[0], f"#define {name}(OP){body}\n"))


# ----- README.


def _table(path: str, text: str) -> tuple[int, int, list[str]]:
    """The rows of the README's table of ops."""
    lines = text.splitlines(keepends=True)
    begin = _index_of(path, text.splitlines(), "## The ops")
    while begin < len(lines) and not lines[begin].startswith("|---"):
        begin += 1
    end = begin + 1
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    if begin == len(lines):
        raise NewOpError(f"{path} has no table of ops below '## The ops'")
    return begin + 1, end, lines


def insert_into_table(
    path: str, text: str, name: str, module: str, relatives: Sequence[str]
) -> str:
    """Inserts a function's name into the row of the README's table that has a related op, or into a
    new row."""
    begin, end, lines = _table(path, text)
    for at in range(begin, end):
        if any(f"`{relative}`" in lines[at] for relative in relatives):
            lines[at] = lines[at].replace(" |\n", f", `{name}` |\n")
            return "".join(lines)
    lines.insert(end, f"| {module.replace('_', ' ')} | `{name}` |\n")
    return "".join(lines)


def remove_from_table(path: str, text: str, name: str) -> str:
    begin, end, lines = _table(path, text)
    for at in range(begin, end):
        if f"`{name}`" in lines[at]:
            lines[at] = lines[at].replace(f", `{name}`", "").replace(f"`{name}`, ", "")
            if f"`{name}`" in lines[at]:
                del lines[at]
            return "".join(lines)
    raise NewOpError(f"{path}: the table of ops has no `{name}`")
