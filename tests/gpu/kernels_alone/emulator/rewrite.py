"""Turns a CUDA source into C++ for the emulator.

    python3 rewrite.py tensorflow_ext/ops/resampler/resampler_gpu.cu.cc resampler_gpu.cc

CUDA syntax becomes calls of emulator.h:

    kernel<<<grid, block, bytes, stream>>>(arguments)
    __shared__ type name[size]
    __grid_constant__ type

The contents of its *.cuh replace their first include. Lines keep the file and the number that they
have in the sources. The tool refuses what it does not understand.
"""

import dataclasses
import pathlib
import re
import sys

_HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_INCLUDE = re.compile(r'^#include "([^"]+\.cuh)"$', re.MULTILINE)
_GRID_CONSTANT = re.compile(r"const\s+__grid_constant__(\s+[\w:]+)")
_SHARED = re.compile(
    r"__shared__\s+(?P<type>[\w:]+(?:\s[\w:]+)*)\s+(?P<name>\w+)"
    r"(?P<sizes>(?:\[[\w:]+\])*)\s*;"
)
_CLOSING = {")": "(", "]": "[", "}": "{"}
_CONFIGURATION = 4  # grid, block, bytes of shared memory, stream


class RewriteError(ValueError):
    """A source that the tool does not understand; the message has the place."""


@dataclasses.dataclass
class _Source:
    """A text, and the same with comments and literals blanked out."""

    path: str
    text: str

    def __post_init__(self) -> None:
        def blank(match: re.Match[str]) -> str:
            return re.sub(r"[^\n]", " ", match[0])

        self.code = _HIDDEN.sub(blank, self.text)

    def refuse(self, position: int, reason: str) -> RewriteError:
        line = self.code.count("\n", 0, position) + 1
        return RewriteError(f"{self.path}:{line}: {reason}")

    def replace(self, begin: int, end: int, new: str) -> None:
        """Replaces text by text with the same number of lines."""
        assert self.text.count("\n", begin, end) == new.count("\n")
        self.text = self.text[:begin] + new + self.text[end:]
        self.__post_init__()


def _callee_begin(source: _Source, end: int) -> int:
    """The start of a kernel's name, with template arguments."""
    code, depth, begin = source.code, 0, end
    while begin > 0:
        character = code[begin - 1]
        if character == ">":
            depth += 1
        elif character == "<":
            depth -= 1
        elif character in ";{}()" or (
            depth <= 0 and not (character.isalnum() or character in "_:")
        ):
            break
        begin -= 1
    if depth or not re.match(r"[A-Za-z_]", code[begin:end]):
        raise source.refuse(end, "no name of a kernel in front of <<<")
    return begin


def _parts(source: _Source, begin: int, end: str) -> tuple[list[str], int]:
    """The text between `begin` and `end`, split at commas outside parentheses, and
    the position of `end`."""
    code, opened, parts, part = source.code, list[str](), list[str](), begin
    for position in range(begin, len(code)):
        character = code[position]
        if not opened and code.startswith(end, position):
            return [*parts, source.text[part:position]], position
        if character in _CLOSING.values():
            opened.append(character)
        elif character in _CLOSING:
            if not opened or opened.pop() != _CLOSING[character]:
                break
        elif character == "," and not opened:
            parts.append(source.text[part:position])
            part = position + 1
        elif character == ";":
            break
    raise source.refuse(begin, f"no {end} behind what it closes")


def _rewrite_launches(source: _Source) -> None:
    while (begin := source.code.find("<<<")) >= 0:
        name_end = len(source.code[:begin].rstrip())
        name_begin = _callee_begin(source, name_end)
        configuration, closing = _parts(source, begin + 3, ">>>")
        if len(configuration) != _CONFIGURATION:
            expected = "kernel<<<grid, block, bytes, stream>>>"
            raise source.refuse(begin, f"a launch is not {expected}")
        opening = closing + 3
        opening += len(source.code[opening:]) - len(source.code[opening:].lstrip())
        if source.code[opening : opening + 1] != "(":
            raise source.refuse(closing, "no ( behind >>>")
        _, end = _parts(source, opening + 1, ")")
        if not source.code[end + 1 :].lstrip().startswith(";"):
            raise source.refuse(end, "no ; behind a launch")
        called = source.text[name_begin:begin]
        arguments = source.text[closing + 3 : end + 1]
        launch = f"emulator::Launch({','.join(configuration)}, [=] {{ "
        source.replace(name_begin, end + 1, f"{launch}{called}{arguments}; }})")


def _rewrite_shared(source: _Source) -> None:
    while (found := source.code.find("__shared__")) >= 0:
        match = _SHARED.match(source.code, found)
        if match is None:
            raise source.refuse(found, "not __shared__ type name[size]...;")
        kind, name, sizes = match["type"], match["name"], match["sizes"]
        lines = "\n" * match[0].count("\n")
        declared = f"{kind} (&{name}){sizes}" if sizes else f"{kind}& {name}"
        memory = f"emulator::Shared<{kind}{sizes}>([] {{}});"
        source.replace(*match.span(), f"{declared} = {memory}{lines}")


def _rewrite_grid_constants(source: _Source) -> None:
    while (found := source.code.find("__grid_constant__")) >= 0:
        begin = len(source.code[:found].rstrip()) - len("const")
        match = _GRID_CONSTANT.match(source.code, max(begin, 0))
        if match is None:
            raise source.refuse(found, "not const __grid_constant__ type")
        lines = "\n" * (match[0].count("\n") - match[1].count("\n"))
        source.replace(*match.span(), f"const{match[1]}&{lines}")


def rewrite(path: str, seen: set[str] | None = None) -> str:
    """The C++ of a CUDA source, without the *.cuh that were already included.

    Raises:
      RewriteError: The tool does not understand a part.
    """
    seen = set() if seen is None else seen
    source = _Source(path, pathlib.Path(path).read_text())
    _rewrite_grid_constants(source)
    _rewrite_shared(source)
    _rewrite_launches(source)

    def included(match: re.Match[str]) -> str:
        if match[1] in seen:
            return ""
        seen.add(match[1])
        line = source.text.count("\n", 0, match.start()) + 2
        text = rewrite(match[1], seen).replace("#pragma once", "")  # It is in no header now.
        return f'{text}#line {line} "{path}"'

    return f'#line 1 "{path}"\n{_INCLUDE.sub(included, source.text)}'


def main() -> None:
    path, output = sys.argv[1:]
    try:
        # nvcc also includes it before every source.
        text = f"#include <cuda_runtime.h>\n{rewrite(path)}"
    except RewriteError as reason:
        sys.exit(f"rewrite.py: {reason}")
    pathlib.Path(output).write_text(text)


if __name__ == "__main__":
    main()
