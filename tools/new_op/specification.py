# SPDX-License-Identifier: Apache-2.0
"""The specification of an op, parsed from the command line."""

import builtins
import dataclasses
import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any

from completeness.reading import python_name

from new_op.errors import NewOpError

# Types that kernels compute with, floating-point first.
FLOATING = ("half", "bfloat16", "float", "double")
INTEGERS = ("int32", "int64")
NUMERIC = (*FLOATING, *INTEGERS)
_SCALARS = ("bool", "int", "float", "string", "type")
_SYNTAX = (
    "NAME:TYPE[>=MINIMUM][=DEFAULT], TYPE being bool, int, float, string, type, "
    "list(TYPE) or the values allowed, as in mode:{up,down}=up or Tout:{float,double}"
)
_NAMES_OF_TF = {"name", "self"}
# The types that an OpDef accepts.
TYPES = {
    *NUMERIC,
    *(f"{u}int{bits}" for u in ("", "u") for bits in (2, 4, 8, 16, 32, 64)),
    *("bool", "string", "complex64", "complex128", "resource", "variant"),
    *("qint8", "quint8", "qint16", "quint16", "qint32", "float8_e5m2", "float8_e4m3fn"),
}
_CPP_WORDS = re.findall(
    r"\w+",
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char
    char8_t char16_t char32_t class co_await co_return co_yield compl concept const
    const_cast consteval constexpr constinit continue decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true
    try typedef typeid typename union unsigned using virtual void volatile wchar_t while
    xor xor_eq""",
)
# A string that is valid in C++, Python, OpDefs and tables of cases.
_STRING = r"[A-Za-z0-9_.+-]*"
_EXPECTED = {
    "bool": "true or false",
    "int": "a whole number of 64 bits",
    "float": "a number of 32 bits",
    "string": "letters, digits and _ . + -",
    "type": "one of TensorFlow's, such as float",
}
_LARGEST_FLOAT = 3.4028234e38


def _check_name(what: str, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or name.endswith("_"):
        raise NewOpError(
            f"{what} '{name}': expected letters, digits and underscores, a letter first"
        )
    if keyword.iskeyword(name) or name in _NAMES_OF_TF:
        raise NewOpError(f"{what} '{name}': Python takes this word; expected another")
    if name in _CPP_WORDS:
        raise NewOpError(f"{what} '{name}': C++ takes this word; expected another")


def check_type_name(what: str, name: str) -> None:
    """Raises NewOpError if no attribute can have this name."""
    _check_name(what, name)
    if name in TYPES:
        raise NewOpError(f"{what} '{name}': a type of TensorFlow is so called; expected another")


def _element(kind: str) -> str:
    return kind.removeprefix("list(").removesuffix(")")


@dataclasses.dataclass(frozen=True)
class Attribute:
    """An attribute of the op.

    Attributes:
      name: Its name.
      type: bool, int, float, string, type, or list(one of these).
      default: Its default value, or None.
      minimum: The smallest value of a number, the shortest length of a list, or None.
      allowed: The strings or types that it accepts; empty if it accepts any.
    """

    name: str
    type: str
    default: Any = None
    minimum: float | None = None
    allowed: tuple[str, ...] = ()

    @property
    def is_list(self) -> bool:
        return self.type.startswith("list(")

    @property
    def element(self) -> str:
        """The type of a list's elements, or its own."""
        return _element(self.type)

    @property
    def definition(self) -> str:
        """The text for .Attr() of REGISTER_OP; a float's minimum is checked separately."""
        words = [f"{self.name}: {self.type}"]
        if self.allowed:
            quote = "'" if self.type == "string" else ""
            values = ", ".join(f"{quote}{value}{quote}" for value in self.allowed)
            words = [f"{self.name}: {{{values}}}"]
        if self.minimum is not None and (self.is_list or self.type == "int"):
            words.append(f">= {int(self.minimum)}")
        if self.default is not None:
            words.append(f"= {_in_op_def(self.type, self.default)}")
        return " ".join(words)

    @property
    def sample(self) -> Any:
        """The value that tests use: different from the default if another value exists."""
        if self.allowed:
            others = [value for value in self.allowed if value != self.default]
            return others[-1] if others else self.allowed[0]
        if self.type == "bool":
            return not self.default
        if self.type == "int":
            return int(max(self.minimum or 0, 2)) + (self.default == 2)
        if self.type == "float":
            return max(self.minimum or 0.0, 0.0) + 0.75
        return {"string": "a", "type": "float"}.get(self.type, self.default)

    @property
    def index_of_sample(self) -> float:
        """The sample as a number in the placeholder's formula."""
        return _as_number(self, self.sample)

    @property
    def checks_minimum(self) -> bool:
        """True if the op itself must check the value."""
        return self.type == "float" and self.minimum is not None


def _as_number(attribute: Attribute, value: Any) -> float:
    if attribute.type == "string":
        return attribute.allowed.index(value)
    return float(value)


def _in_op_def(kind: str, value: Any) -> str:
    if isinstance(value, list):
        element = _element(kind)
        return "[" + ", ".join(_in_op_def(element, x) for x in value) + "]"
    if kind == "type":
        return f"DT_{value.upper()}"
    if kind == "string":
        return f"'{value}'"
    if kind == "bool":
        return str(value).lower()
    return str(value)


def _value(argument: str, kind: str, word: str) -> Any:
    """Parses an attribute's value from the command line."""
    if kind.startswith("list("):
        inner = re.fullmatch(r"\[(.*)\]", word.strip())
        if inner is None:
            raise NewOpError(f"{argument}: '{word}' is no list; expected [A,B,...]")
        element = _element(kind)
        words = [w.strip() for w in inner[1].split(",") if w.strip()]
        return [_value(argument, element, w) for w in words]
    word = word.strip("'\"") if kind == "string" else word.lower()
    read: dict[str, Callable[[str], Any]] = {
        "int": int,
        "float": float,
        "bool": {"true": True, "false": False}.get,
        "string": lambda text: text if re.fullmatch(_STRING, text) else None,
        "type": lambda text: text if text in TYPES else None,
    }
    value = None
    if kind in read:
        try:
            value = read[kind](word)
        except ValueError:
            value = None
    if (
        value is None
        or (kind == "int" and not -(2**63) <= value < 2**63)
        or (kind == "float" and not abs(value) <= _LARGEST_FLOAT)
    ):
        raise NewOpError(f"{argument}: '{word}' is no {kind}; expected {_EXPECTED[kind]}")
    return value


def parse_attribute(word: str) -> Attribute:
    """Parses an attribute, NAME:TYPE[>=MINIMUM][=DEFAULT].

    Raises:
      NewOpError: The word does not have that form.
    """
    argument = f"--attr {word}"
    parts = re.fullmatch(
        r"(\w+)\s*:\s*(list\(\w+\)|\{[^}]*\}|\w+)\s*(?:>=\s*([^=]+?))?\s*(?:=\s*(.*))?", word
    )
    if parts is None:
        raise NewOpError(f"{argument}: expected {_SYNTAX}")
    name, kind, minimum, default = parts.groups()
    check_type_name(f"{argument}: the name", name)
    allowed: tuple[str, ...] = ()
    if kind.startswith("{"):
        allowed = tuple(w.strip().strip("'\"") for w in kind[1:-1].split(",") if w)
        if not allowed:
            raise NewOpError(f"{argument}: no value is allowed; expected {{A,B,...}}")
        for value in allowed:
            if not value or not re.fullmatch(_STRING, value):
                expected = _EXPECTED["string"]
                raise NewOpError(f"{argument}: '{value}' is no string; expected {expected}")
        if set(allowed) & TYPES and not set(allowed) <= set(NUMERIC):
            raise NewOpError(
                f"{argument}: expected types that kernels compute with alone, "
                f"{', '.join(NUMERIC)}, or strings of which none names a type"
            )
        kind = "type" if set(allowed) <= set(NUMERIC) else "string"
    element = _element(kind)
    if element not in _SCALARS:
        raise NewOpError(f"{argument}: '{kind}' is no type; expected {_SYNTAX}")
    attribute = Attribute(name, kind, allowed=allowed)
    if minimum is not None:
        if kind not in ("int", "float") and not attribute.is_list:
            raise NewOpError(
                f"{argument}: a {kind} has no minimum; expected one of an int, a "
                "float, or of the length of a list"
            )
        of = "float" if kind == "float" else "int"
        least = _value(argument, of, minimum)
        if attribute.is_list and least < 0:
            raise NewOpError(f"{argument}: expected a length of 0 or more")
        attribute = dataclasses.replace(attribute, minimum=least)
    if default is not None:
        value = _value(argument, kind, default)
        if allowed and value not in allowed:
            raise NewOpError(f"{argument}: the default is none of {', '.join(allowed)}")
        size = len(value) if attribute.is_list else value
        if attribute.minimum is not None and size < attribute.minimum:
            raise NewOpError(f"{argument}: the default is below the minimum")
        attribute = dataclasses.replace(attribute, default=value)
    if attribute.is_list and attribute.default is None:
        raise NewOpError(f"{argument}: expected a default: the table of cases gives no lists")
    return attribute


@dataclasses.dataclass(frozen=True)
class Argument:
    """An input or output: its name, and its type or the attribute that gives its type."""

    name: str
    type: str


def parse_argument(option: str, word: str) -> Argument:
    """Parses an input or output, NAME:TYPE.

    Raises:
      NewOpError: The word does not have that form.
    """
    name, colon, kind = word.partition(":")
    if not (colon and name and re.fullmatch(r"\w+", kind)):
        raise NewOpError(
            f"{option} {word}: expected NAME:TYPE, TYPE being one of "
            f"{', '.join(NUMERIC)} or an attribute such as T"
        )
    _check_name(f"{option} {word}: the name", name)
    return Argument(name, kind)


def camel_case(name: str) -> str:
    """The op's name: squareplus is TfExt>Squareplus, floor_mod TfExt>FloorMod."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def check_op_name(name: str) -> None:
    """Raises NewOpError unless the name is valid for a Python function and is the name that
    tensorflow_ext.raw_ops derives from the op."""
    _check_name("the op's name", name)
    if hasattr(builtins, name):
        raise NewOpError(
            f"the op's name '{name}': Python has a function or a type that is so "
            "called, which the function's module uses; expected another"
        )
    back = python_name(camel_case(name))
    if back != name:
        raise NewOpError(
            f"the op's name '{name}' would come back from TfExt>{camel_case(name)} as "
            f"'{back}': expected lower-case words of two letters or more, such as "
            "floor_mod"
        )
    if name.endswith("_grad"):
        raise NewOpError(f"the op's name '{name}': the gradient of an op is so called")


def duplicates(names: Sequence[str]) -> list[str]:
    """The names that occur more than once."""
    return sorted({name for name in names if names.count(name) > 1})
