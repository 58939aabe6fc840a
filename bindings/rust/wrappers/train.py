"""Filters for the templates of optimizers."""

import json

from tensorflow_ext_codegen import optimizers
from tensorflow_ext_codegen.optimizers import Field

_TYPES = {
    optimizers.RATE: "LearningRate",
    optimizers.OPTIMIZER: "Serialized",
    optimizers.NUMBER: "f64",
    optimizers.OPTIONAL_NUMBER: "f64",
    optimizers.OPTIONAL_COUNT: "u32",
    optimizers.FLAG: "bool",
    optimizers.NAME: "String",
    optimizers.OPTIONAL_NAME: "String",
    optimizers.NUMBERS: "Vec<f64>",
    optimizers.OPTIONAL_AXES: "Vec<i64>",
}
_PLAIN = {"f64", "u32", "bool"}


def parameter(field: Field) -> str:
    """The type of the argument of a setter."""
    own = _TYPES[field.kind]
    return own if own in _PLAIN else f"impl Into<{own}>"


def member(field: Field) -> str:
    """The type of a member."""
    own = _TYPES[field.kind]
    return f"Option<{own}>" if field.default is None else own


def given(field: Field, argument: str) -> str:
    """The member's value from an argument."""
    value = argument if _TYPES[field.kind] in _PLAIN else f"{argument}.into()"
    return f"Some({value})" if field.default is None else value


def default(field: Field) -> str:
    """The default as an expression."""
    if field.default is None:
        return "None"
    is_number = field.kind in (optimizers.NUMBER, optimizers.RATE)
    value = json.dumps(float(str(field.default)) if is_number else field.default)
    return value if _TYPES[field.kind] in _PLAIN else f"{value}.into()"


def said(field: Field) -> str:
    """The default in a comment."""
    return "" if field.default is None else f" Default: {str(field.default).lower()}."
