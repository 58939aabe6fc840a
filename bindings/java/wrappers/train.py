"""The files of optimizers, and filters for their templates."""

import json
from collections.abc import Mapping
from typing import Any

from tensorflow_ext_codegen import initializers, optimizers
from tensorflow_ext_codegen.optimizers import Field

_TYPES = {
    optimizers.RATE: "double",
    optimizers.OPTIMIZER: "Optimizer",
    optimizers.NUMBER: "double",
    optimizers.OPTIONAL_NUMBER: "double",
    optimizers.OPTIONAL_COUNT: "int",
    optimizers.FLAG: "boolean",
    optimizers.NAME: "String",
    optimizers.OPTIONAL_NAME: "String",
    optimizers.NUMBERS: "double[]",
    optimizers.OPTIONAL_AXES: "int...",
}

# All files, each with its template and its extra variables.
FILES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "AddedNodes.java": ("added_nodes.jinja", {}),
    "Configured.java": ("configured.jinja", {}),
    "Saver.java": ("saver.jinja", {}),
    "TrainableModel.java": ("model.jinja", {}),
    "Training.java": ("training.jinja", {}),
    "Variables.java": ("variables.jinja", {}),
    "Initializer.java": (
        "base.jinja",
        {"base": "Initializer", "what": "An initializer of Keras 3."},
    ),
    "Optimizer.java": ("base.jinja", {"base": "Optimizer", "what": "An optimizer of Keras 3."}),
    "Schedule.java": (
        "base.jinja",
        {"base": "Schedule", "what": "A schedule of learning rates of Keras 3."},
    ),
} | {
    f"{kind.name}.java": ("configured_class.jinja", {"class": kind, "base": base})
    for base, kinds in (
        ("Initializer", initializers.INITIALIZERS),
        ("Optimizer", (*optimizers.OPTIMIZERS, optimizers.LOSS_SCALE_OPTIMIZER)),
        ("Schedule", optimizers.SCHEDULES),
    )
    for kind in kinds
}


def parameter(field: Field) -> str:
    """The type of the argument of a setter."""
    return _TYPES[field.kind]


def default(field: Field) -> str:
    """The default as an expression."""
    is_number = field.kind in (optimizers.NUMBER, optimizers.RATE)
    return json.dumps(float(str(field.default)) if is_number else field.default)
