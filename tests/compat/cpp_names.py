"""The declarations of this library's C++ headers, each as one line of text.

This is not a C++ parser. It reads headers as clang-format leaves them: namespaces, classes,
functions, types and constants.
"""

import re
import subprocess
from collections.abc import Iterator

_SPACE = re.compile(r"\s+")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CONTINUED = re.compile(r"\\\n")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_INCLUDE = re.compile(r"^[ \t]*#\s*include[^\n]*", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#\s*define\s+(\w+(?:\([^)]*\))?)", re.MULTILINE)
_ACCESS = re.compile(r"^(public|protected|private)\s*:\s*")
_SCOPE = re.compile(r"(?:^|>\s*)(class|struct|enum(?: class)?)\s+([\w:]+)")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def macros(text: str) -> list[str]:
    """The macros that a header defines for its users, with their parameters.

    The header's guard, macros that it undefines and macros that only other macros use are left out.
    """
    found = _MACRO.findall(_CONTINUED.sub(" ", _COMMENT.sub("", text)))
    undefined = set(re.findall(r"^#\s*undef\s+(\w+)", text, re.MULTILINE))
    return [
        _SPACE.sub("", name)
        for name in found
        if not name.endswith("_H_")
        and "(counter," not in name
        and name.partition("(")[0] not in undefined
    ]


def declarations(text: str) -> list[str]:
    """The declarations in namespaces that are not internal, in order.

    Members follow their class, as "Value::exists: bool exists() const". Private members, bodies and
    initial values of constants are left out.
    """
    # Only the header's own macros and conditions.
    expanded = subprocess.run(
        ["g++", "-x", "c++", "-E", "-P", "-"],
        input=_INCLUDE.sub("", text),
        capture_output=True,
        text=True,
        check=True,
    )
    return list(_declared(_TEXT.sub('""', expanded.stdout), "", public=True))


def _without_value(line: str) -> str:
    """The text up to a constant's value or a constructor's initial values."""
    depth = 0
    for i, letter in enumerate(line):
        depth += (letter in "([{") - (letter in ")]}")
        if not depth and line[i:].startswith((" = ", " : ")):
            return line[:i]
    return line


def _close(text: str, start: int) -> int:
    """The position after the bracket that closes the one at `start`."""
    waiting = []
    for i in range(start, len(text)):
        if text[i] in _PAIRS:
            waiting.append(_PAIRS[text[i]])
        elif text[i] in _PAIRS.values():
            assert waiting.pop() == text[i], text[start : i + 1]
            if not waiting:
                return i + 1
    raise ValueError(f"not closed: {text[start : start + 80]!r}")


def _statements(text: str) -> Iterator[tuple[str, str | None]]:
    """The text before each ';' or '{', and the contents of the braces."""
    begin = at = 0
    while at < len(text):
        if text[at] in "([":
            at = _close(text, at)
        elif text[at] == ";":
            yield text[begin:at], None
            begin = at = at + 1
        elif text[at] == "{":
            end = _close(text, at)
            yield text[begin:at], text[at + 1 : end - 1]
            begin = at = end
        else:
            at += 1


def _declared(text: str, scope: str, public: bool) -> Iterator[str]:
    for head, body in _statements(text):
        line = _SPACE.sub(" ", head).strip().replace("( ", "(")
        while access := _ACCESS.match(line):
            public = access[1] == "public"
            line = line[access.end() :]
        if not line or not public or line.startswith("friend "):
            continue
        if body is not None and line.startswith(("namespace", 'extern ""')):
            if "internal" not in line:
                yield from _declared(body, scope, public=True)
            continue
        kind = _SCOPE.search(line)
        if body is not None and kind and "(" not in line:
            name = f"{scope}{kind[2]}"
            yield f"{scope}{line.partition(' : ')[0]}"
            if kind[1].startswith("enum"):
                for value in body.split(","):
                    if value.strip():
                        yield f"{name}::{_SPACE.sub(' ', value).strip()}"
            else:
                yield from _declared(body, f"{name}::", kind[1] == "struct")
            continue
        yield scope + _without_value(line)
