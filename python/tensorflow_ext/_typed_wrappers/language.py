# SPDX-License-Identifier: Apache-2.0
"""What the wrappers of all languages have in common."""

import dataclasses
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from tensorflow_ext._typed_wrappers import names
from tensorflow_ext._typed_wrappers.op_interface import Op

_TEMPLATES = pathlib.Path(__file__).parent / "templates"


class RenderError(Exception):
    """The wrappers cannot be written; the message says why."""


@dataclasses.dataclass(frozen=True)
class Language:
    """A language that wrappers can be written in.

    Attributes:
      title: What it is called.
      templates: Of each file that is written: the end of its name, the template. The
        first is the one that `--write` names; the others lie beside it.
      keywords: Names that arguments and attributes cannot have: the language's words,
        and what its templates call their own.
      filters: Functions for the templates beside those of `render`.
      files: Of a language whose wrappers are a folder of files: gives for the ops and
        the name of all the files, and of each its template and what that has beside
        the rest. `templates` is empty then.
    """

    title: str
    templates: Mapping[str, str]
    keywords: Set[str]
    filters: Mapping[str, Callable[..., Any]] = dataclasses.field(default_factory=dict)
    files: Callable[[Sequence[Op], str], Mapping[str, tuple[str, Mapping[str, Any]]]] | None = None


def render(
    language: Language,
    ops: Sequence[Op],
    name: str,
    stem: str,
    folder: pathlib.Path = _TEMPLATES,
    **further: Any,
) -> dict[str, str]:
    """Fills a language's templates in.

    A template has `ops`, `name` (what the wrappers are called together: a namespace, a
    package), `stem` (the file's name without its end) and the filters

        snake, camel, pascal   how a name is written (`names`)
        safe                   a name that is no keyword of the language
        comment(prefix)        a text as lines that each begin so
        identifier             a text with underscores in place of what no name has
        unless(taken)          a name that is not among others either

    Args:
      language: What to write.
      ops: The ops.
      name: What the wrappers are called together.
      stem: The file's name without its end.
      folder: Where the templates are.
      **further: What else templates use.

    Returns:
      The files: the end of each one's name (of a folder's files the name), its text.

    Raises:
      RenderError: Jinja is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise RenderError(
            "The wrappers are written with Jinja, which is not installed: pip install jinja2"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # It is source code that is written.
    )
    environment.filters.update(
        camel=names.camel_case,
        comment=comment,
        identifier=lambda text: re.sub(r"\W", "_", text),
        pascal=names.pascal_case,
        safe=lambda word: names.safe(word, language.keywords),
        snake=names.snake_case,
        unless=lambda word, taken: names.safe(word, {*language.keywords, *taken}),
        **language.filters,
    )
    files: Mapping[str, tuple[str, Mapping[str, Any]]]
    if language.files is not None:
        files = language.files(ops, name)
    else:
        files = {end: (template, {}) for end, template in language.templates.items()}
    return {
        file: environment.get_template(template).render(
            ops=ops, name=name, stem=stem, **own, **further
        )
        for file, (template, own) in files.items()
    }


def words(text: str) -> frozenset[str]:
    """The words of a text, such as a language's keywords."""
    return frozenset(text.split())


def comment(text: str, prefix: str) -> str:
    """The text's lines, each behind the prefix, without spaces at its end.

    No line ends in a backslash, which would draw the next one into the comment.
    """
    lines = [
        f"{prefix}{line}" + (" ." if line.endswith("\\") else "") for line in text.splitlines()
    ]
    return "\n".join(line.rstrip() for line in lines)


def float_digits(value: float) -> str:
    """The shortest decimal number that reads as this 32-bit float, which is finite."""
    return str(np.float32(value))


def quoted(value: bytes) -> str:
    """The text in double quotes, with escapes that C, C++, Java and Rust share where
    it is ASCII; other bytes as octal escapes, which C and C++ read alone.
    """
    plain = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    text = "".join(plain.get(chr(x), chr(x) if 32 <= x < 127 else f"\\{x:03o}") for x in value)
    return f'"{text}"'
