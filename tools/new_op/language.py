# SPDX-License-Identifier: Apache-2.0
"""Attributes as written in C++, Python, the table of cases and English."""

import textwrap
from typing import Any

from new_op.specification import Attribute


def cpp_type(a: Attribute) -> str:
    names = {
        "bool": "bool",
        "int": "int64_t",
        "float": "float",
        "string": "std::string",
        "type": "tensorflow::DataType",
    }
    element = names[a.element]
    return f"std::vector<{element}>" if a.is_list else element


def cpp_number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def cpp_as_float(a: Attribute, expression: str) -> str:
    """The value of an attribute as a number, for a functor or a formula."""
    if a.type == "string":
        chain = "0"
        for index, value in reversed(list(enumerate(a.allowed))):
            chain = f'{expression} == "{value}" ? {index} : {chain}'
        return f"static_cast<float>({chain})"
    return f"static_cast<float>({expression})"


def python_type(a: Attribute) -> str:
    names = {"string": "str", "type": "tf.DType"}
    element = a.element
    name = names.get(element, element)
    return f"list[{name}] | tuple[{name}, ...]" if a.is_list else name


def python_value(a: Attribute, value: Any) -> str:
    element = a.element
    if isinstance(value, list):
        parts = [python_value(Attribute(a.name, element), x) for x in value]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if element == "type":
        named = {"half": "float16", "float": "float32", "double": "float64"}
        return f"tf.{named.get(value, value)}"
    return f'"{value}"' if element == "string" else repr(value)


def case_value(a: Attribute, value: Any) -> str:
    return str(value).lower() if a.type == "bool" else str(value)


def is_small(a: Attribute) -> bool:
    """True if tests can use the default: no type overflows with it."""
    if a.type in ("int", "float"):
        return a.default is not None and abs(a.default) <= 8
    return a.default is not None


def describe(a: Attribute) -> str:
    kinds = {"bool": "Whether to", "string": "A string", "type": "A type"}
    text = kinds.get(a.type, "A number")
    if a.is_list:
        text = "A list"
    if a.allowed:
        text += f", one of {', '.join(a.allowed)}"
    elif a.minimum is not None:
        of = " of them, at least" if a.is_list else ", at least"
        text += f"{of} {cpp_number(a.minimum)}"
    return f"{text}: say for what."


def wrap(text: str, indent: str = "", first: str = "") -> str:
    width = 80 if not first else 100
    return "\n".join(
        textwrap.wrap(
            text, width, initial_indent=first, subsequent_indent=indent, break_long_words=False
        )
    )
