"""The code blocks of README.md and docs/."""

import dataclasses
import functools
import pathlib
import re

import markdown_it

# Under Bazel this file is a link into the source tree.
ROOT = pathlib.Path(__file__).resolve().parents[2]
# Compiled sources that a block of C, C++, Go, Java or Rust may match.
_COMPILED = ("tensorflow_ext", "tests", "examples", "bindings")


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of a page: its fence and its contents.

    `language` is empty for a block that is indented or has no language.
    """

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[pathlib.Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks() -> list[Block]:
    """All blocks of all pages, in order."""
    found = []
    for path in pages():
        text = _without_tabs(path.read_text(encoding="utf-8"))
        for token in markdown_it.MarkdownIt().parse(text):
            if token.type in ("fence", "code_block") and token.map is not None:
                language = token.info.split()[0] if token.info.split() else ""
                page = str(path.relative_to(ROOT))
                found.append(Block(page, token.map[0] + 1, language, token.content))
    return found


def _without_tabs(text: str) -> str:
    """The page, with the contents of its tabs ("=== "Python"") unindented."""
    lines, inside = [], False
    for line in text.splitlines():
        if re.match(r"(===|\?\?\?\+?|!!!) ", line):
            inside = True
            lines.append("")
            continue
        if inside and line and not line.startswith("    "):
            inside = False
        lines.append(line[4:] if inside else line)
    return "\n".join(lines)


def tokens(code: str) -> str:
    """C, C++, Go, Java or Rust without comments, directives for tools and spaces."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", code, flags=re.DOTALL)
    return re.sub(r"\s+", "", code)


@functools.cache
def compiled_code() -> str:
    """The tokens of all sources that the build compiles."""
    sources = [
        path
        for folder in _COMPILED
        for suffix in ("*.c", "*.cc", "*.go", "*.h", "*.java", "*.rs")
        for path in sorted((ROOT / folder).rglob(suffix))
    ]
    return "\n".join(tokens(path.read_text(encoding="utf-8")) for path in sources)
