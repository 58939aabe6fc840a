"""The C++ code for the program of all calls."""

import json
from typing import Any

from objects import Object

from tensorflow_ext import _names as names
from tensorflow_ext_codegen import cxx, op_interface


def _value(attribute: op_interface.Attribute, value: Any) -> str:
    """A value in C++, even if only the OpDef has a default for its type."""
    if attribute.type not in ("func", "tensor"):
        text = cxx.literal(attribute, value)
        element = cxx.TYPES[attribute.type]
        return f"std::vector<{element}>{text}" if attribute.is_list else text
    texts = [
        f'Function("{x.name}")' if attribute.type == "func" else f"Scalar({x.float_val[0]})"
        for x in (value if attribute.is_list else [value])
    ]
    return f"{{{', '.join(texts)}}}" if attribute.is_list else texts[0]


def _field(value: Any) -> str:
    """The value of a field of an optimizer or another class, in C++."""
    if isinstance(value, Object):
        return names.snake_case(value.made.name)
    if isinstance(value, list):
        return f"{{{', '.join(map(str, value))}}}"
    return json.dumps(value)  # Its texts and numbers are those of C++.


FILTERS = {"field": _field, "value": _value}
