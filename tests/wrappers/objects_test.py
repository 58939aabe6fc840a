"""The optimizers, schedules and initializers of each language write the JSON that Python writes."""

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import keras
import pytest
from objects import Object, all_objects

_PROGRAMS = dict(pair.split("=") for pair in os.environ["OBJECTS_PROGRAMS"].split())
_OBJECTS = all_objects()


@pytest.mark.parametrize("language", _PROGRAMS)
def test_json_is_that_of_the_table(language: str) -> None:
    printed = subprocess.check_output([_PROGRAMS[language]], text=True).splitlines()
    assert [json.loads(line) for line in printed] == [made.json() for made in _OBJECTS]


# Keras admits one kind of clipping, and sets the factor to None inside of LossScaleOptimizer.
_NOT_COMPARED = ("clipvalue", "global_clipnorm", "loss_scale_factor")


def _fields(made: Object) -> Iterator[tuple[str, Any]]:
    for field, value in made.values:
        if not field.is_own and field.name not in _NOT_COMPARED:
            yield field.name, value


def _in_keras(made: Object) -> Any:
    modules = (keras.optimizers, keras.optimizers.schedules, keras.initializers)
    made_by = next(getattr(m, made.made.name) for m in modules if hasattr(m, made.made.name))
    values = {k: _in_keras(v) if isinstance(v, Object) else v for k, v in _fields(made)}
    return made_by(**values)


def _compare(made: Object, theirs: Any) -> None:
    assert theirs["class_name"] == made.made.name
    for name, value in _fields(made):
        if isinstance(value, Object):
            _compare(value, theirs["config"][name])
        elif (made.made.name, name) != ("Identity", "gain"):  # Keras forgets it.
            assert theirs["config"][name] == pytest.approx(value), name


@pytest.mark.parametrize("made", _OBJECTS, ids=lambda made: made.made.name)
def test_json_is_that_of_keras(made: Object) -> None:
    _compare(made, keras.saving.serialize_keras_object(_in_keras(made)))
