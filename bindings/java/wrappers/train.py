# SPDX-License-Identifier: Apache-2.0
"""The files of optimizers, and filters for their templates."""

from collections.abc import Mapping
from typing import Any

from tensorflow_ext_codegen import optimizers
from tensorflow_ext_codegen.optimizers import Field

_TYPES = {
    optimizers.RATE: "double",
    optimizers.NUMBER: "double",
    optimizers.OPTIONAL_NUMBER: "double",
    optimizers.OPTIONAL_COUNT: "int",
    optimizers.FLAG: "boolean",
    optimizers.OPTIONAL_NAME: "String",
    optimizers.NUMBERS: "double[]",
}

# All files, each with its template and its extra variables.
FILES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "Configured.java": ("configured.jinja", {}),
    "Training.java": ("training.jinja", {}),
    "Optimizer.java": ("base.jinja", {"base": "Optimizer", "what": "An optimizer of Keras 3."}),
    "Schedule.java": (
        "base.jinja",
        {"base": "Schedule", "what": "A schedule of learning rates of Keras 3."},
    ),
} | {
    f"{kind.name}.java": ("configured_class.jinja", {"class": kind, "base": base})
    for base, kinds in (("Optimizer", optimizers.OPTIMIZERS), ("Schedule", optimizers.SCHEDULES))
    for kind in kinds
}


def parameter(field: Field) -> str:
    """The type of the argument of a setter."""
    return _TYPES[field.kind]


def default(field: Field) -> str:
    """The default as an expression."""
    if field.kind == optimizers.FLAG:
        return str(field.default).lower()
    return str(float(str(field.default)))
