"""Reference pages of the public Python modules, from their docstrings."""

import html
import importlib
import inspect
import pathlib
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ("gradients", "layers", "sysconfig", "testing")
_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):$", re.MULTILINE)
_LISTS = {"Args", "Attributes", "Raises"}


def files() -> dict[str, str | bytes]:
    """The pages by their name in docs/."""
    return {page_name(module): _page(module) for module in MODULES}


def page_name(module: str) -> str:
    return f"api/{module}.md"


def summary(module: str) -> str:
    """The first sentence of a module's docstring."""
    paragraph = (inspect.getdoc(_import(module)) or "").partition("\n\n")[0]
    return escaped(" ".join(paragraph.split()))


def escaped(text: str) -> str:
    """Plain text as Markdown; text between backticks stays code."""
    parts = re.split(r"(`[^`]+`)", text)
    parts[::2] = [
        re.sub(r"([\\*_\[\]|#])", r"\\\1", html.escape(part, quote=False)) for part in parts[::2]
    ]
    return "".join(parts)


def paragraphs(text: str) -> str:
    """Paragraphs as Markdown; indented ones are code, and "- " starts a list item."""
    parts = []
    for part in re.split(r"\n{2,}", text.strip("\n")):
        lines = part.splitlines()
        if lines and all(line.startswith("  ") for line in lines):
            parts.append(f"```text\n{inspect.cleandoc(part)}\n```")
        else:
            items = re.sub(r"\n *- ", "\n- ", escaped(part))
            parts.append(items.replace("\n- ", "\n\n- ", 1))
    return "\n\n".join(parts)


def _import(module: str) -> ModuleType:
    return importlib.import_module(f"tensorflow_ext.{module}")


def _page(module: str) -> str:
    imported = _import(module)
    source = pathlib.Path(inspect.getfile(imported)).resolve().relative_to(ROOT)
    parts = [
        f"# tensorflow_ext.{module}",
        _documentation(imported),
        f"Source: [`{source}`](../../{source})",
    ]
    for name in sorted(imported.__all__, key=str.lower):
        parts += _entry(name, getattr(imported, name))
    return "\n\n".join(parts) + "\n"


def _entry(name: str, value: Any) -> Iterator[str]:
    """A heading, a signature and the documentation of a public name."""
    yield f"## {name}"
    if not callable(value):
        yield f"```python\n{name} = {value!r}\n```"
        return
    yield _signature(name, value)
    yield _documentation(value)
    if inspect.isclass(value):
        for member, function in _members(value):
            yield f"### {name}.{member}"
            if callable(function):
                yield _signature(member, function)
            yield _documentation(function)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yields the public methods and properties that the class itself documents."""
    for name, value in vars(cls).items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        documented = inspect.isfunction(function) or isinstance(function, property)
        if documented and function.__doc__ and not name.startswith("_"):
            yield name, function


def _signature(name: str, value: Any) -> str:
    parameters = []
    star = False
    for parameter in inspect.signature(value).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parameters.append("*")
        star = star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        if parameter.name != "self":
            parameters.append(str(parameter.replace(annotation=inspect.Parameter.empty)))
    line = f"{name}({', '.join(parameters)})"
    if len(line) > 88:
        line = f"{name}(\n    " + ",\n    ".join(parameters) + ",\n)"
    return f"```python\n{line}\n```"


def _documentation(value: Any) -> str:
    """A Google-style docstring as Markdown."""
    text, *sections = _SECTION.split(inspect.getdoc(value) or "")
    parts = [paragraphs(text)]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        body = inspect.cleandoc(f"\n{body}")
        shown = _items(body) if title in _LISTS else paragraphs(body)
        parts.append(f"**{title}**\n\n{shown}")
    return "\n\n".join(part for part in parts if part)


def _items(text: str) -> str:
    """The list in a section; each item begins at the margin, as "name: text"."""
    items = []
    for item in re.split(r"\n(?=\S)", text):
        name, _, described = " ".join(item.split()).partition(": ")
        items.append(f"- `{name}`: {escaped(described)}")
    return "\n".join(items)
