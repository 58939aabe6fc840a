# SPDX-License-Identifier: Apache-2.0
"""Filters for the templates of optimizers."""

from tensorflow_ext_codegen import optimizers
from tensorflow_ext_codegen.optimizers import Field

_TYPES = {
    optimizers.RATE: "LearningRate",
    optimizers.NUMBER: "f64",
    optimizers.OPTIONAL_NUMBER: "f64",
    optimizers.OPTIONAL_COUNT: "u32",
    optimizers.FLAG: "bool",
    optimizers.OPTIONAL_NAME: "String",
    optimizers.NUMBERS: "Vec<f64>",
}
_CONVERTED = {"LearningRate", "String", "Vec<f64>"}


def parameter(field: Field) -> str:
    """The type of the argument of a setter."""
    own = _TYPES[field.kind]
    return f"impl Into<{own}>" if own in _CONVERTED else own


def member(field: Field) -> str:
    """The type of a member."""
    own = _TYPES[field.kind]
    return f"Option<{own}>" if field.default is None else own


def given(field: Field) -> str:
    """The member's value from the argument of a setter."""
    value = "value.into()" if _TYPES[field.kind] in _CONVERTED else "value"
    return f"Some({value})" if field.default is None else value


def default(field: Field) -> str:
    """The default as an expression."""
    if field.default is None:
        return "None"
    if field.kind == optimizers.FLAG:
        return str(field.default).lower()
    value = str(float(str(field.default)))
    return f"{value}.into()" if field.kind == optimizers.RATE else value


def said(field: Field) -> str:
    """The default in a comment."""
    return "" if field.default is None else f" Default: {str(field.default).lower()}."
