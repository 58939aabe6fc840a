"""Filters for the templates of optimizers."""

import json

from tensorflow_ext_codegen import optimizers
from tensorflow_ext_codegen.optimizers import Field

_TYPES = {
    optimizers.RATE: "LearningRate",
    optimizers.OPTIMIZER: "Optimizer",
    optimizers.NUMBER: "double",
    optimizers.OPTIONAL_NUMBER: "std::optional<double>",
    optimizers.OPTIONAL_COUNT: "std::optional<int64_t>",
    optimizers.FLAG: "bool",
    optimizers.NAME: "std::string",
    optimizers.OPTIONAL_NAME: "std::optional<std::string>",
    optimizers.NUMBERS: "std::vector<double>",
    optimizers.OPTIONAL_AXES: "std::optional<std::vector<int64_t>>",
}


def member(field: Field) -> str:
    """The declaration of a member; one without a default is empty until it is set."""
    kept = _TYPES[field.kind]
    if field.default is optimizers.REQUIRED:
        kept = kept if field.kind == optimizers.NUMBERS else f"std::optional<{kept}>"
        return f"{kept} {field.name}"
    if field.default is None:
        return f"{kept} {field.name}"
    # Python's false and 1e-07 are those of C++, as JSON.
    return f"{kept} {field.name} = {json.dumps(field.default)}"
