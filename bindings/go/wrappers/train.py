"""Filters for the templates of optimizers."""

import json

from tensorflow_ext_codegen import optimizers
from tensorflow_ext_codegen.optimizers import Field

_TYPES = {
    optimizers.RATE: "LearningRate",
    optimizers.OPTIMIZER: "Optimizer",
    optimizers.NUMBER: "float64",
    optimizers.OPTIONAL_NUMBER: "*float64",
    optimizers.OPTIONAL_COUNT: "*int",
    optimizers.FLAG: "bool",
    optimizers.NAME: "string",
    optimizers.OPTIONAL_NAME: "string",
    optimizers.NUMBERS: "[]float64",
    optimizers.OPTIONAL_AXES: "[]int",
}


def field_type(field: Field) -> str:
    """The type of a struct's field."""
    return _TYPES[field.kind]


def default(field: Field) -> str:
    """The default as a Go expression; empty if it is Go's zero value."""
    if not field.default or field.default is optimizers.REQUIRED:
        return ""
    value = json.dumps(field.default)
    return f"Rate({value})" if field.kind == optimizers.RATE else value
