"""Every schedule, initializer and optimizer of the tables, with a value for each field."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from tensorflow_ext_codegen import optimizers
from tensorflow_ext_codegen.initializers import INITIALIZERS
from tensorflow_ext_codegen.optimizers import Class, Field

_NAMES = {"mode": "fan_out", "distribution": "untruncated_normal"}


@dataclasses.dataclass(frozen=True)
class Object:
    """An object of a class.

    Attributes:
      made: The class.
      values: A value for each field, in order; another object stands for itself.
    """

    made: Class
    values: list[tuple[Field, Any]]

    def json(self) -> dict[str, Any]:
        """The form of Keras."""
        config = {
            field.name: value.json() if isinstance(value, Object) else value
            for field, value in self.values
        }
        return {"class_name": self.made.name, "config": config}


def all_objects() -> list[Object]:
    """An object of each class. One that another contains comes before it."""
    schedules = [_make(made, []) for made in optimizers.SCHEDULES]
    plain = [_make(made, []) for made in INITIALIZERS]
    # The last one has a number as its learning rate.
    made = [
        _make(optimizer, schedules[k : k + 1]) for k, optimizer in enumerate(optimizers.OPTIMIZERS)
    ]
    return [*schedules, *plain, *made, _make(optimizers.LOSS_SCALE_OPTIMIZER, made[:1])]


def _make(made: Class, parts: list[Object]) -> Object:
    counts = iter(range(2, 99))
    return Object(made, [(field, _value(field, parts, counts)) for field in made.fields])


def _value(field: Field, parts: list[Object], counts: Iterator[int]) -> Any:
    """A value that is not the default. All numbers of an object differ."""
    count = next(counts)
    match field.kind:
        case optimizers.FLAG:
            return not field.default
        case optimizers.NAME:
            return _NAMES[field.name]
        case optimizers.OPTIONAL_NAME:
            return f'"{count}" \\ name'  # Text that JSON and source code must escape.
        case optimizers.NUMBERS:
            return [count / 64, *map(float, range(count, 2 * count - 1))]
        case optimizers.OPTIONAL_AXES:
            return [count, -1]
        case optimizers.OPTIONAL_COUNT:
            return count
        case optimizers.RATE | optimizers.OPTIMIZER if parts:
            return parts[0]
    if field.default is not optimizers.REQUIRED and field.default and field.default < 0:
        return -count / 64
    return 1e-8 * count if field.name == "epsilon" else count / 64
