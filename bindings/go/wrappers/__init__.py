"""Go, in the style of package op of TensorFlow's binding."""

import dataclasses
import json
import re
from collections.abc import Sequence

from tensorflow_ext import _names as names
from tensorflow_ext_codegen.go import train
from tensorflow_ext_codegen.language import Language, float_digits, words
from tensorflow_ext_codegen.op_interface import Argument, Attribute, Op

# https://go.dev/ref/spec#Keywords, and the names that Go and a wrapper file use.
_KEYWORDS = words(
    """
    break case chan const continue default defer else fallthrough for func go goto if
    import interface map package range return select struct switch type var
    bool false float32 int int64 nil range string true
    add attrs next op operation optional outputList scope tf
    """
)

_TYPES = {
    "bool": "bool",
    "float": "float32",
    "int": "int64",
    "shape": "tf.Shape",
    "string": "string",
    "tensor": "*tf.Tensor",
    "type": "tf.DataType",
}


@dataclasses.dataclass(frozen=True)
class Setter:
    """The function that sets an optional attribute."""

    name: str
    attribute: Attribute


@dataclasses.dataclass(frozen=True)
class Names:
    """Go's names for the parts of an op.

    Attributes:
      arguments: The names of inputs, outputs and attributes, by their names in the OpDef.
      attr: The type of the optional arguments.
      setters: The setters of the optional attributes that Go's binding can set.
      functions: The required attributes that Go's binding cannot set.
    """

    arguments: dict[str, str]
    attr: str
    setters: tuple[Setter, ...]
    functions: tuple[Attribute, ...]


def all_names(ops: Sequence[Op]) -> dict[str, Names]:
    """The names of every op, by the op's name; they are unique within a package."""
    taken = {op.name for op in ops}

    def exported(name: str) -> str:
        name = names.safe(name, taken)
        taken.add(name)
        return name

    found = {}
    for op in ops:
        attr = exported(f"{op.name}Attr")
        setters = [
            Setter(exported(op.name + names.pascal_case(a.name)), a)
            for a in op.optional
            if a.type in _TYPES
        ]
        arguments: dict[str, str] = {}
        for name in [*(x.name for x in op.inputs + op.outputs), *(a.name for a in op.required)]:
            used = {*_KEYWORDS, *arguments.values()}
            arguments[name] = names.safe(names.camel_case(name), used)
        functions = tuple(a for a in op.required if a.type not in _TYPES)
        found[op.name] = Names(arguments, attr, tuple(setters), functions)
    return found


def parameter(attribute: Attribute) -> str:
    """The type of a parameter."""
    return ("[]" if attribute.is_list else "") + _TYPES[attribute.type]


def _default(attribute: Attribute) -> str:
    """A default as the documentation shows it."""
    if attribute.is_list:
        return f"[{', '.join(_said(attribute.type, x) for x in attribute.default)}]"
    return _said(attribute.type, attribute.default)


def _said(element: str, value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return float_digits(value)
        case bytes():
            return json.dumps(value.decode(errors="replace"))
    if element == "shape":
        if value is None:
            return "a shape of unknown rank"
        assert isinstance(value, tuple)
        return f"[{', '.join('?' if size is None else str(size) for size in value)}]"
    return "the op's default" if element == "tensor" else str(value)


_LIST_ITEM = re.compile(r"([*+•-]|\d{1,9}[.)])\s+")


def _doc(text: str) -> str:
    """A text as a comment that gofmt does not change: paragraphs, lists and blocks of
    code, separated by empty lines (https://go.dev/doc/comment).
    """
    blocks: list[tuple[str, list[str]]] = []  # The kind of each block, and its lines.
    for line in [x.expandtabs().rstrip() for x in text.splitlines()]:
        stripped = line.lstrip()
        kind = blocks[-1][0] if blocks else ""
        if not stripped:
            blocks.append(("", []))
        elif kind != "code" and (item := _LIST_ITEM.match(stripped)):
            begins = f"  - {stripped[item.end() :]}"
            if kind == "list":
                blocks[-1][1].append(begins)
            else:
                blocks.append(("list", [begins]))
        elif line != stripped and kind == "list":
            blocks[-1][1].append(f"    {stripped}")
        else:
            now = "code" if line != stripped else "paragraph"
            if kind != now:
                blocks.append((now, []))
            blocks[-1][1].append(line)
    written = []
    for kind, lines in blocks:
        if kind == "code":
            least = min(len(x) - len(x.lstrip()) for x in lines)
            written.append("\n".join("\t" + x[least:] for x in lines))
        elif lines:
            written.append("\n".join(lines))
    lines = "\n\n".join(written).splitlines()
    return "\n".join(f"//{' ' if x and x[0] != chr(9) else ''}{x}" for x in lines)


def _entries(described: Sequence[Argument | Attribute], called: Names) -> list[tuple[str, str]]:
    """The names of arguments in Go, and their documentation."""
    return [(called.arguments[x.name], x.description) for x in described]


def _package(name: str) -> str:
    """The name of a package, which has no underscores."""
    return names.safe(name.replace("_", "").replace(".", "").lower(), _KEYWORDS)


LANGUAGE = Language(
    title="Go",
    templates={".go": "ops.jinja"},
    train={".go": "train.jinja"},
    keywords=_KEYWORDS,
    filters={
        "all_names": all_names,
        "default": _default,
        "doc": _doc,
        "entries": _entries,
        "package": _package,
        "parameter": parameter,
        "train_default": train.default,
        "train_type": train.field_type,
    },
)
