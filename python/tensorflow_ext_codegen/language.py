"""The code that the wrappers of all languages share."""

import dataclasses
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from tensorflow_ext import _names as names
from tensorflow_ext_codegen.initializers import INITIALIZERS
from tensorflow_ext_codegen.op_interface import Op
from tensorflow_ext_codegen.optimizers import LOSS_SCALE_OPTIMIZER, OPTIMIZERS, SCHEDULES


class RenderError(Exception):
    """The wrappers cannot be written; the message says why."""


@dataclasses.dataclass(frozen=True)
class Language:
    """A language of wrappers.

    Attributes:
      title: The language's name.
      templates: The template of each output file, by the suffix of the file's name. The
        first file is the one that `--write` names; the others are in the same folder.
      keywords: Names that arguments and attributes cannot have: the language's words,
        and names that its templates use.
      filters: Functions for the templates in addition to those of `render`.
      files: For a language whose wrappers are a folder of files. It takes the ops and
        their common name, and returns the files, each with its template and its extra
        variables. `templates` is empty then.
      own_files: Further files of such a folder beside the ops of tensorflow_ext, each with its
        template.
      train: The templates of optimizers and `minimize`, as in `templates`; for a folder, as
        `files` returns them.
    """

    title: str
    templates: Mapping[str, str]
    keywords: Set[str]
    filters: Mapping[str, Callable[..., Any]] = dataclasses.field(default_factory=dict)
    files: Callable[[Sequence[Op], str], Mapping[str, tuple[str, Mapping[str, Any]]]] | None = None
    own_files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    train: Mapping[str, str | tuple[str, Mapping[str, Any]]] = dataclasses.field(
        default_factory=dict
    )


def render(
    language: Language,
    ops: Sequence[Op],
    name: str,
    stem: str,
    folder: pathlib.Path,
    own: bool = False,
    **further: Any,
) -> dict[str, str]:
    """Renders a language's templates.

    A template has `ops`, `name` (the common name of the wrappers: a namespace, a
    package), `stem` (the file's name without its suffix), the tables `optimizers`,
    `schedules` and `initializers`, the class `loss_scale_optimizer`, and the filters

        snake, camel, pascal   a name in this case (`names`)
        safe                   a name that is not a keyword of the language
        comment(prefix)        a text as lines that each begin with the prefix
        identifier             a text with underscores for characters that names lack
        unless(taken)          a name that also differs from these others

    Args:
      language: The language to write.
      ops: The ops; none for the templates `train`.
      name: The common name of the wrappers.
      stem: The file's name without its suffix.
      folder: The folder of the templates.
      own: True if the ops are those of tensorflow_ext. Templates have it as a variable.
      **further: Other variables of the templates.

    Returns:
      The text of each file, by the suffix of its name (in a folder of files, its name).

    Raises:
      RenderError: Jinja is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise RenderError(
            "Writing wrappers needs Jinja, which is not installed: pip install "
            "'tensorflow-ext[wrappers]' (or jinja2, if tensorflow_ext is there already)"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # The output is source code.
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
    if not ops:
        files = {
            end: (template, {}) if isinstance(template, str) else template
            for end, template in language.train.items()
        }
    elif language.files is not None:
        files = language.files(ops, name)
        if own:
            files = {
                **files,
                **{file: (template, {}) for file, template in language.own_files.items()},
            }
    else:
        files = {end: (template, {}) for end, template in language.templates.items()}
    return {
        file: environment.get_template(template).render(
            ops=ops,
            name=name,
            stem=stem,
            optimizers=OPTIMIZERS,
            schedules=SCHEDULES,
            initializers=INITIALIZERS,
            loss_scale_optimizer=LOSS_SCALE_OPTIMIZER,
            own=own,
            **variables,
            **further,
        )
        for file, (template, variables) in files.items()
    }


def words(text: str) -> frozenset[str]:
    """The words of a text, such as a language's keywords."""
    return frozenset(text.split())


def comment(text: str, prefix: str) -> str:
    """The text's lines, each after the prefix, without trailing spaces.

    No line ends in a backslash, which would continue the comment on the next line.
    """
    lines = [
        f"{prefix}{line}" + (" ." if line.endswith("\\") else "") for line in text.splitlines()
    ]
    return "\n".join(line.rstrip() for line in lines)


def float_digits(value: float) -> str:
    """The shortest decimal number that parses to this finite 32-bit float."""
    return str(np.float32(value))


def quoted(value: bytes) -> str:
    """The text in double quotes. ASCII has escapes that C, C++, Java and Rust share; other
    bytes are octal escapes, which only C and C++ read.
    """
    plain = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    text = "".join(plain.get(chr(x), chr(x) if 32 <= x < 127 else f"\\{x:03o}") for x in value)
    return f'"{text}"'
